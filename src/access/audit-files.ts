import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { AuditEntry } from '../engine/ports.ts';
import { digestOfLine, NO_LINE } from './audit-chain.ts';
import { parseEntry } from './audit-entry.ts';

/** Beside the journal. */
export const AUDIT_FOLDER = 'audit';

const NAME = /^audit-(\d{15})\.jsonl$/;

/** A file of the record is named after the sequence of its first entry. */
export function auditFileName(firstSequence: number): string {
  return `audit-${String(firstSequence).padStart(15, '0')}.jsonl`;
}

export function firstSequenceIn(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}

/** Oldest first. */
export async function auditFilesIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => NAME.test(name)).sort();
}

export interface AuditLine {
  readonly text: string;
  /** Undefined for what is no entry: the end of a file that a power cut tore, say. */
  readonly entry: AuditEntry | undefined;
}

export async function* linesIn(path: string): AsyncIterable<AuditLine> {
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity }))
    yield { text, entry: parseEntry(text) };
}

/** Where the record in a folder ends: what comes next follows it. */
export interface AuditEnd {
  readonly sequence: number;
  readonly digest: string;
}

/** The end of the newest files, of which the last may not hold a whole line yet. */
export async function endOfAudit(directory: string, files: readonly string[]): Promise<AuditEnd> {
  for (const name of [...files].reverse()) {
    let end: AuditEnd | undefined;
    for await (const { text, entry } of linesIn(join(directory, name)))
      if (entry !== undefined) end = { sequence: entry.sequence, digest: digestOfLine(text) };
    if (end !== undefined) return end;
  }
  return { sequence: Math.max(firstSequenceIn(files.at(-1) ?? '') - 1, 0), digest: NO_LINE };
}
