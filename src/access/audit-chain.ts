import { hash } from 'node:crypto';
import type { AuditEntry } from '../engine/ports.ts';

/** Begins the chain: there is no line before the first. */
export const NO_LINE = '';

const PREVIOUS = /,"previous":"([0-9a-f]{64}|)"\}$/;

/** Reading splits lines at these as well, and foreign text may hold them: an entry must not hide behind one. */
const LINE_SEPARATORS = /[\u2028\u2029]/g;

/** An entry as JSON on one line, without its place in the chain. */
export function jsonOf(entry: AuditEntry): string {
  return JSON.stringify(entry).replace(LINE_SEPARATORS, (separator) =>
    separator === '\u2028' ? '\\u2028' : '\\u2029',
  );
}

/** The same as a line of the record, which says by its SHA-256 what the line before it was. */
export function lineOf(entryJson: string, previous: string): string {
  return `${entryJson.slice(0, -1)},"previous":"${previous}"}`;
}

export function digestOfLine(line: string): string {
  return hash('sha256', line);
}

/** What a line says of the one before it; undefined for a line of before there was a chain. */
export function previousIn(line: string): string | undefined {
  return PREVIOUS.exec(line)?.[1];
}
