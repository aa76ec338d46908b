import { appendFile, mkdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { AUDIT_RETAIN_MS, MAX_AUDIT_FILE_BYTES, MAX_UNWRITTEN_AUDIT_BYTES } from '../core/limits.ts';
import type { Audit, Clock, Observer } from '../engine/ports.ts';
import { digestOfLine, jsonOf, lineOf } from './audit-chain.ts';
import { entryOf } from './audit-entry.ts';
import { auditFileName, auditFilesIn, endOfAudit, firstSequenceIn, linesIn } from './audit-files.ts';

export interface FileAuditOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly maxFileBytes?: number;
}

/**
 * A record in files that are only ever appended to, one JSON object a line; each is named after the sequence of its
 * first entry, and each line holds the SHA-256 of the one before it, so that `verifyAudit` finds what was changed. They belong to this user alone. What could not be written is lost and reported: a full disk ends no
 * call, and whoever needs the record whole watches for `audit_lost`.
 */
export async function openFileAudit(options: FileAuditOptions): Promise<Audit> {
  const { directory, clock, observer, maxFileBytes = MAX_AUDIT_FILE_BYTES } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  let files = await auditFilesIn(directory);
  const newest = files.at(-1);
  const end = await endOfAudit(directory, files);
  let recorded = end.sequence;
  /** The digest of the last line that is in a file. */
  let head = end.digest;
  let torn = newest !== undefined;
  let size = newest === undefined ? 0 : (await stat(join(directory, newest))).size;
  let waiting: { readonly sequence: number; readonly json: string }[] = [];
  let unwritten = 0;
  let lost = 0;
  let writing: Promise<void> | undefined;
  let closed = false;

  const write = async (): Promise<void> => {
    while (waiting.length > 0) {
      const entries = waiting;
      waiting = [];
      unwritten = 0;
      let last = head;
      const lines = entries.map(({ json }) => {
        const line = lineOf(json, last);
        last = digestOfLine(line);
        return line;
      });
      const batch = `${lines.join('\n')}\n`;
      try {
        if (files.length === 0 || size >= maxFileBytes) await begin(entries[0]?.sequence ?? 1);
        // A line that a power cut tore stands alone: what follows it begins on a new one.
        await appendFile(join(directory, files.at(-1) ?? ''), torn ? `\n${batch}` : batch, { mode: 0o600 });
        torn = false;
        size += Buffer.byteLength(batch);
        head = last;
      } catch (error) {
        lost += entries.length;
        observer.report('error', 'audit_lost', {
          entries: entries.length,
          error: error instanceof Error ? error.message : String(error),
        });
        await findEnd();
      }
    }
    writing = undefined;
  };

  /** Some of what could not be written may be there all the same: what comes next follows that. */
  const findEnd = async (): Promise<void> => {
    torn = true;
    head = await endOfAudit(directory, files).then(
      ({ digest }) => digest,
      () => head,
    );
  };

  const begin = async (first: number): Promise<void> => {
    files = [...files, auditFileName(first)];
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
      const sequence = ++recorded;
      const json = jsonOf(entryOf(fact, sequence, clock.now()));
      if (unwritten + json.length > MAX_UNWRITTEN_AUDIT_BYTES) {
        if (lost++ === 0)
          observer.report('error', 'audit_lost', { entries: 1, error: 'the disk is too slow' });
        return;
      }
      waiting.push({ sequence, json });
      unwritten += json.length;
      writing ??= new Promise(setImmediate).then(write);
    },
    async *read(afterSequence) {
      await writing;
      const through = recorded;
      const later = files.findIndex((name) => firstSequenceIn(name) > afterSequence + 1);
      const from = later === -1 ? files.length - 1 : Math.max(later - 1, 0);
      for (const name of files.slice(Math.max(from, 0))) {
        for await (const { entry } of linesIn(join(directory, name))) {
          if (entry === undefined) continue;
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
