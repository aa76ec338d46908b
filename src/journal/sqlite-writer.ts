import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { CHECKPOINT_BYTES, MAX_KEPT_HEADS, WAL_RESERVE_BYTES } from '../core/limits.ts';
import { pieceChecksum, sessionSeed, sessionText } from './checksum.ts';
import { type UnpackedAppend, unpackCommit } from './commit-batch.ts';
import { JournalError } from './journal-error.ts';
import { pageBytes } from './sqlite-database.ts';
import { failedCommit, isConstraint, isFull } from './sqlite-error.ts';
import type { SqliteReferences } from './sqlite-references.ts';
import type {
  CallResult,
  Conflict,
  NamedDefinition,
  PackedCommit,
  ThreadOptions,
} from './thread-protocol.ts';

export interface SqliteWriter {
  /** Writes all calls in one transaction. Throws a JournalError when the journal has ended (7.4). */
  commit(packed: PackedCommit): readonly CallResult[];
  /** Somebody else has changed sessions in the database. */
  forgetHeads(): void;
  /** Moves the write-ahead log into the database when it has grown to CHECKPOINT_BYTES. Throws like `commit`. */
  checkpoint(): void;
}

/** What one call of `append` came to: conflicts of its appends, or why none of it was written. */
type Verdict = { readonly conflicts: readonly Conflict[] } | { readonly error: JournalError };

interface Head {
  readonly id: number;
  readonly last: number;
  readonly unfinished: number;
}

type Claim = { readonly session: number } | { readonly actualSequence: number };

export function createSqliteWriter(
  database: DatabaseSync,
  references: SqliteReferences,
  options: ThreadOptions,
): SqliteWriter {
  const { path, maxBytes, reserveBytes } = options;
  const directory = dirname(path);
  const pageSize = pageBytes(database);

  const begin = database.prepare('BEGIN IMMEDIATE');
  const commitAll = database.prepare('COMMIT');
  // RETURNING would save a statement and cost five times as much: SQLite keeps its rows in a table of their own.
  const insertSession = database.prepare(
    `INSERT INTO sessions (id, tenant, session_id, kind, name, subject, last_sequence, unfinished, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const findHead = database.prepare(
    'SELECT id, last_sequence, unfinished FROM sessions WHERE tenant = ? AND session_id = ?',
  );
  const moveHead = database.prepare('UPDATE sessions SET last_sequence = ? WHERE id = ?');
  // Naming `unfinished` makes SQLite write the indexes over it anew, so it is named only where it changes.
  const changeHead = database.prepare(
    "UPDATE sessions SET last_sequence = ?, unfinished = ?, ended_at = CASE kind WHEN 'call' THEN ? END WHERE id = ?",
  );
  const insertPiece = database.prepare(
    'INSERT INTO events (session, sequence, checksum, event, count) VALUES (?, ?, ?, ?, ?)',
  );
  const freeCount = database.prepare('PRAGMA freelist_count');
  const pageCount = database.prepare('PRAGMA page_count');
  const walSize = database.prepare('PRAGMA wal_checkpoint(NOOP)');
  const moveWal = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  /** SQLite would give the id of a removed session again, whose events may not all be gone. */
  let newestSession = newestId(database);
  /** Of sessions that have not ended, and so are written again: looking one up costs as much as writing an event. */
  const heads = new Map<string, Head>();
  /** The size of the write-ahead log at which it is moved next. */
  let checkpointAt = CHECKPOINT_BYTES;

  function headOf({ tenant, sessionId }: UnpackedAppend): Head | undefined {
    const row = findHead.get(tenant, sessionId);
    return (
      row && {
        id: Number(row['id']),
        last: Number(row['last_sequence']),
        unfinished: Number(row['unfinished']),
      }
    );
  }

  /** The session's row, with its head moved; or the sequence that stands in the way. */
  function claim(append: UnpackedAppend, text: string, lastSequence: number): Claim {
    const { tenant, sessionId, expectedSequence, unfinished, endedAt = null, identity } = append;
    if (identity !== undefined) {
      const { kind, name, subject } = identity;
      const { changes } = insertSession.run(
        newestSession + 1,
        tenant,
        sessionId,
        kind,
        name,
        subject,
        lastSequence,
        unfinished,
        // A conversation that owes nothing has not ended: it rests, and age does not remove it (4.12).
        kind === 'call' ? endedAt : null,
      );
      if (changes === 1) {
        newestSession += 1;
        keep(text, { id: newestSession, last: lastSequence, unfinished });
        return { session: newestSession };
      }
    }
    // Comparing here and setting below is one step: the transaction is the only one there is.
    const head = heads.get(text) ?? headOf(append);
    if (head === undefined || head.last !== expectedSequence) return { actualSequence: head?.last ?? 0 };
    if (head.unfinished === unfinished) moveHead.run(lastSequence, head.id);
    else changeHead.run(lastSequence, unfinished, endedAt, head.id);
    keep(text, { id: head.id, last: lastSequence, unfinished });
    return { session: head.id };
  }

  function keep(text: string, head: Head): void {
    if (head.unfinished === 0) {
      heads.delete(text);
      return;
    }
    // All at once: who asks too late reads it from the database.
    if (heads.size === MAX_KEPT_HEADS) heads.clear();
    heads.set(text, head);
  }

  /** The conflict, if it is one. */
  function write(append: UnpackedAppend, index: number): Conflict | undefined {
    const { tenant, sessionId, expectedSequence, count, piece, blobs } = append;
    const last = expectedSequence + count;
    const text = sessionText(tenant, sessionId);
    const claimed = claim(append, text, last);
    if ('actualSequence' in claimed) return { append: index, actualSequence: claimed.actualSequence };
    const checksum = pieceChecksum(sessionSeed(text), last, count, piece);
    insertPiece.run(claimed.session, last, checksum, piece, count);
    if (blobs.length > 0) references.add(claimed.session, tenant, blobs);
    return undefined;
  }

  /** Writes what has no verdict yet. Answers with the call that cannot be written, where there is one. */
  function tryCommit(
    calls: readonly (readonly UnpackedAppend[])[],
    definitions: readonly NamedDefinition[],
    verdicts: (Verdict | undefined)[],
  ) {
    const written = [...verdicts];
    begin.run();
    for (const [index, appends] of calls.entries()) {
      if (verdicts[index] !== undefined) continue;
      const conflicts: Conflict[] = [];
      for (const [place, append] of appends.entries()) {
        try {
          const conflict = write(append, place);
          if (conflict !== undefined) conflicts.push(conflict);
        } catch (error) {
          if (isConstraint(error)) return { impossible: index, append };
          throw error;
        }
      }
      written[index] = { conflicts };
    }
    references.claim(definitions, newestSession);
    commitAll.run();
    references.settle('committed');
    return { written };
  }

  function rollBack(): void {
    // SQLite has rolled back by itself after some errors; asking again would be an error.
    if (database.isTransaction) database.exec('ROLLBACK');
    references.settle('rolled back');
    heads.clear();
  }

  function freeBytes(): number {
    const { bavail, bsize } = statfsSync(directory);
    const onDisk = bavail * bsize;
    // What was pruned leaves free pages in the file, which are used again before it grows. The log needs disk.
    const reusable = Number(freeCount.get()?.['freelist_count']) * pageSize;
    const free = onDisk < WAL_RESERVE_BYTES ? onDisk : onDisk + reusable;
    if (maxBytes === undefined) return free;
    const used = Number(pageCount.get()?.['page_count']) * pageSize;
    return Math.min(free, maxBytes - used + reusable);
  }

  /** New work is refused while running work still has room to end (7.4). */
  function refuseNewWork(calls: readonly (readonly UnpackedAppend[])[]): (Verdict | undefined)[] {
    const verdicts = calls.map((): Verdict | undefined => undefined);
    const free = freeBytes();
    if (free >= reserveBytes) return verdicts;
    const error = new JournalError(
      'full',
      `The journal ${path} has ${Math.max(0, free)} bytes left, and keeps ${reserveBytes} for running sessions: ` +
        'no new ones begin. Free disk space.',
    );
    return calls.map((appends, index) =>
      appends.some((append) => append.identity !== undefined) ? { error } : verdicts[index],
    );
  }

  function commit(packed: PackedCommit): readonly CallResult[] {
    const calls = unpackCommit(packed);
    const verdicts = refuseNewWork(calls);
    for (;;) {
      try {
        const attempt = tryCommit(calls, packed.definitions, verdicts);
        if ('written' in attempt) return attempt.written.flatMap(toResult);
        rollBack();
        verdicts[attempt.impossible] = { error: contradiction(attempt.append) };
      } catch (error) {
        rollBack();
        if (!isFull(error)) throw failedCommit(error, path);
        // Certain, unlike any other failure: a frame could not be written, so the log does not end in a commit.
        const full = new JournalError(
          'full',
          `The journal ${path} has no room for these events: ${String(error)}. Nothing of them was written. ` +
            'Free disk space; later appends then work again.',
        );
        return verdicts.map((verdict) => verdict ?? { error: full }).flatMap(toResult);
      }
    }
  }

  function contradiction({ tenant, sessionId, expectedSequence }: UnpackedAppend): JournalError {
    return new JournalError(
      'corrupt',
      `The journal ${path} is damaged: session ${sessionId} of tenant ${tenant} ends with event ` +
        `${expectedSequence}, but has a later one. Restore it, with its -wal file, from a backup.`,
    );
  }

  function checkpoint(): void {
    const frames = Number(walSize.get()?.['log']);
    const size = frames * pageSize;
    if (size < CHECKPOINT_BYTES) checkpointAt = CHECKPOINT_BYTES;
    if (size < checkpointAt) return;
    try {
      moveWal.get();
    } catch (error) {
      if (!isFull(error)) throw failedCommit(error, path);
      // The log is whole, only longer than it should be. Trying at every commit would make a full disk slow, too.
      checkpointAt = size + CHECKPOINT_BYTES;
    }
  }

  return { commit, checkpoint, forgetHeads: () => heads.clear() };
}

function newestId(database: DatabaseSync): number {
  const { newest } =
    database
      .prepare(
        `SELECT max(coalesce((SELECT max(id) FROM sessions), 0),
                    coalesce((SELECT max(session) FROM removed_sessions), 0)) AS newest`,
      )
      .get() ?? {};
  return Number(newest);
}

function toResult(verdict: Verdict | undefined, call: number): readonly CallResult[] {
  if (verdict === undefined) return [];
  if ('error' in verdict) {
    const { kind, message } = verdict.error;
    return [{ call, kind: 'refused', error: { kind, message } }];
  }
  return verdict.conflicts.length === 0 ? [] : [{ call, kind: 'conflicts', conflicts: verdict.conflicts }];
}
