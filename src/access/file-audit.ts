import { createReadStream } from 'node:fs';
import { appendFile, mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AUDIT_RETAIN_MS, MAX_AUDIT_FILE_BYTES, MAX_UNWRITTEN_AUDIT_BYTES } from '../core/limits.ts';
import type { Audit, AuditEntry, Clock, Observer } from '../engine/ports.ts';
import { entryOf, parseEntry } from './audit-entry.ts';

export interface FileAuditOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly maxFileBytes?: number;
}

const NAME = /^audit-(\d{15})\.jsonl$/;

/**
 * A record in files that are only ever appended to, one JSON object a line; each is named after the sequence of its
 * first entry. They belong to this user alone. What could not be written is lost and reported: a full disk ends no
 * call, and whoever needs the record whole watches for `audit_lost`.
 */
export async function openFileAudit(options: FileAuditOptions): Promise<Audit> {
  const { directory, clock, observer, maxFileBytes = MAX_AUDIT_FILE_BYTES } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  let files = await filesIn(directory);
  const newest = files.at(-1);
  let recorded = newest === undefined ? 0 : await lastSequence(join(directory, newest));
  let size = newest === undefined ? 0 : (await stat(join(directory, newest))).size;
  let lines: string[] = [];
  let unwritten = 0;
  let lost = 0;
  let writing: Promise<void> | undefined;
  let closed = false;

  const write = async (): Promise<void> => {
    while (lines.length > 0) {
      const batch = lines.join('');
      const count = lines.length;
      const first = recorded - count + 1;
      lines = [];
      unwritten = 0;
      try {
        if (files.length === 0 || size >= maxFileBytes) await begin(first);
        // A line that a power cut tore stands alone: what follows it begins on a new one.
        await appendFile(join(directory, files.at(-1) ?? ''), size === 0 ? batch : await joined(batch), {
          mode: 0o600,
        });
        size += Buffer.byteLength(batch);
      } catch (error) {
        lost += count;
        observer.report('error', 'audit_lost', {
          entries: count,
          error: error instanceof Error ? error.message : String(error),
        });
      }
    }
    writing = undefined;
  };

  let torn = newest !== undefined && size > 0;
  const joined = async (batch: string): Promise<string> => {
    if (!torn) return batch;
    torn = false;
    return `\n${batch}`;
  };

  const begin = async (first: number): Promise<void> => {
    files = [...files, `audit-${String(first).padStart(15, '0')}.jsonl`];
    size = 0;
    torn = false;
    for (const name of files.slice(0, -1)) {
      const path = join(directory, name);
      if (clock.now() - (await stat(path)).mtimeMs < AUDIT_RETAIN_MS) break;
      await unlink(path);
      files = files.filter((kept) => kept !== name);
    }
  };

  return {
    record(fact) {
      if (closed) return;
      const line = `${JSON.stringify(entryOf(fact, ++recorded, clock.now()))}\n`;
      if (unwritten + line.length > MAX_UNWRITTEN_AUDIT_BYTES) {
        if (lost++ === 0)
          observer.report('error', 'audit_lost', { entries: 1, error: 'the disk is too slow' });
        return;
      }
      lines.push(line);
      unwritten += line.length;
      writing ??= new Promise(setImmediate).then(write);
    },
    async *read(afterSequence) {
      await writing;
      const through = recorded;
      const later = files.findIndex((name) => firstOf(name) > afterSequence + 1);
      const from = later === -1 ? files.length - 1 : Math.max(later - 1, 0);
      for (const name of files.slice(Math.max(from, 0))) {
        for await (const entry of entriesIn(join(directory, name))) {
          if (entry.sequence > through) return;
          if (entry.sequence > afterSequence) yield entry;
        }
      }
    },
    async close() {
      closed = true;
      await writing;
    },
  };
}

function firstOf(name: string): number {
  return Number(NAME.exec(name)?.[1] ?? 0);
}

async function filesIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => NAME.test(name)).sort();
}

async function lastSequence(path: string): Promise<number> {
  let last = firstOf(path.slice(path.lastIndexOf('/') + 1)) - 1;
  for await (const { sequence } of entriesIn(path)) last = sequence;
  return last;
}

async function* entriesIn(path: string): AsyncIterable<AuditEntry> {
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const entry = parseEntry(line);
    if (entry !== undefined) yield entry;
  }
}
