import { resolve } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { JOURNAL_RESERVE_BYTES } from '../core/limits.ts';
import type { Append, Digest, Journal, Observer, SessionKey, TokenStore } from '../engine/ports.ts';
import { checkAppend, checkKey, checkLimit, endOf } from './check-append.ts';
import { type EncodedAppend, packCommit } from './commit-batch.ts';
import { createCommitQueue } from './commit-queue.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { decodeEvent, encodePieces } from './event-codec.ts';
import { JournalError, reasonOf } from './journal-error.ts';
import { createReadQueue } from './read-queue.ts';
import { connectThread, type JournalThread, startThread } from './thread-client.ts';
import type { EventPage, PageOrigin, ThreadAnswer } from './thread-protocol.ts';

export interface SqliteJournalOptions {
  /** The database's file. It is made when it is missing, with its directory, for this user alone. */
  readonly path: string;
  readonly observer?: Observer;
  /** Bytes that the database may have; the write-ahead log comes on top. The default is what the disk holds. */
  readonly maxBytes?: number;
  /** Free bytes below which appends for new sessions are refused (7.4). */
  readonly reserveBytes?: number;
  /** Replaces the thread, for tests that end it. */
  readonly start?: typeof startThread;
}

/** A journal whose file also holds the tokens. */
export interface SqliteJournal extends Journal {
  readonly tokens: TokenStore;
}

/**
 * A journal in a file of SQLite, which one engine has at a time (7.3). Rejects with a JournalError.
 *
 * How it fails (7.4): while less than `reserveBytes` are free, appends for new sessions are refused with 'full'
 * and running sessions go on; when nothing is free, all are, until there is room again. Nothing of such an
 * append was written: SQLite reports a full disk before the commit counts. After any other failure of a commit
 * nobody knows, so every append, read and list rejects with 'failed' from then on.
 */
export async function openSqliteJournal(options: SqliteJournalOptions): Promise<SqliteJournal> {
  const { observer, maxBytes, reserveBytes = JOURNAL_RESERVE_BYTES, start = startThread } = options;
  const path = resolve(options.path);
  const worker: Worker = start({ path, maxBytes, reserveBytes });
  const thread = await connectThread(worker, path, observer);
  return createJournal(path, thread);
}

function createJournal(path: string, thread: JournalThread): SqliteJournal {
  let closing: Promise<void> | undefined;
  const readPage = createReadQueue(thread);
  const queue = createCommitQueue(path, async (calls) => {
    const commit = packCommit(calls);
    const transfer = [commit.bytes.buffer, commit.numbers.buffer];
    const answer = await thread.ask({ kind: 'commit', commit }, transfer);
    return answer.kind === 'committed' ? answer.results : misunderstood(answer);
  });

  function rejectWhenEnded(): void {
    const fault = thread.fault();
    if (fault !== undefined) throw fault;
    if (closing !== undefined) throw new JournalError('closed', `The journal ${path} is closed.`);
  }

  async function* read({ tenant, sessionId }: SessionKey, afterSequence: number) {
    const key = { tenant, sessionId };
    checkKey(key);
    let sequence = afterSequence;
    let from: PageOrigin | undefined;
    do {
      rejectWhenEnded();
      const page: EventPage = await readPage({ key, afterSequence: sequence, from });
      const { sizes, bytes } = page;
      from = page.from;
      let offset = 0;
      for (const size of sizes) {
        sequence += 1;
        yield decode(path, bytes.subarray(offset, offset + size), sessionId, sequence);
        offset += size;
      }
    } while (sequence < from.throughSequence);
  }

  async function* unfinished() {
    let afterPosition: number | undefined = 0;
    while (afterPosition !== undefined) {
      rejectWhenEnded();
      const answer: ThreadAnswer = await thread.ask({ kind: 'unfinished', afterPosition });
      if (answer.kind !== 'keys') return misunderstood(answer);
      yield* answer.page.keys;
      afterPosition = answer.page.nextPosition;
    }
  }

  const tokens: TokenStore = {
    async load() {
      rejectWhenEnded();
      const answer = await thread.ask({ kind: 'load_tokens' });
      return answer.kind === 'tokens' ? answer.tokens : misunderstood(answer);
    },
    async put(record) {
      rejectWhenEnded();
      await thread.ask({ kind: 'put_token', record });
    },
    async remove(id) {
      rejectWhenEnded();
      await thread.ask({ kind: 'remove_token', id });
    },
  };

  return {
    tokens,

    async append(batch) {
      rejectWhenEnded();
      if (batch.length === 0) return [];
      const appends = encodeAppends(batch);
      return queue.add(appends, sizeOf(appends));
    },

    read,
    unfinished,

    async tally() {
      rejectWhenEnded();
      const answer = await thread.ask({ kind: 'tally' });
      return answer.kind === 'tallies' ? answer.tallies : misunderstood(answer);
    },

    async list(query) {
      rejectWhenEnded();
      checkLimit(query.limit);
      const beforePosition = query.cursor === undefined ? undefined : decodeCursor(query, query.cursor);
      if (query.cursor !== undefined && beforePosition === undefined) return undefined;
      const answer = await thread.ask({ kind: 'list', query, beforePosition });
      if (answer.kind !== 'ids') return misunderstood(answer);
      const { sessionIds, nextPosition } = answer.page;
      return nextPosition === undefined
        ? { sessionIds }
        : { sessionIds, nextCursor: encodeCursor(query, nextPosition) };
    },

    async prune(query) {
      rejectWhenEnded();
      if ('limit' in query) checkLimit(query.limit);
      const answer = await thread.ask({ kind: 'prune', query });
      return answer.kind === 'pruned' ? answer.pruned : misunderstood(answer);
    },

    async unreferenced(tenant, digests) {
      rejectWhenEnded();
      const answer = await thread.ask({ kind: 'unreferenced', tenant, digests });
      return answer.kind === 'digests' ? answer.digests : misunderstood(answer);
    },

    close() {
      closing ??= queue.drained().then(() => thread.close());
      return closing;
    },
  };
}

function encodeAppends(batch: readonly Append[]): EncodedAppend[] {
  for (const append of batch) checkAppend(append);
  const pieces = encodePieces(batch.map(({ events }) => events));
  return batch.map((append, index) => encodedAppend(append, pieces[index] ?? misencoded()));
}

function encodedAppend(append: Append, piece: Uint8Array): EncodedAppend {
  const { key, expectedSequence, head } = append;
  return {
    key,
    expectedSequence,
    identity: expectedSequence === 0 ? head : undefined,
    endedAt: head.unfinished ? undefined : head.kind === 'call' ? endOf(append) : NEVER,
    count: append.events.length,
    piece,
    blobs: append.blobs ?? NONE,
    definitions: append.definitions ?? NONE,
  };
}

const NONE: readonly Digest[] = [];

function sizeOf(appends: readonly EncodedAppend[]): number {
  let size = 0;
  for (const { piece } of appends) size += piece.length;
  return size;
}

function decode(path: string, bytes: Uint8Array, sessionId: string, sequence: number) {
  try {
    return decodeEvent(bytes, sessionId, sequence);
  } catch (error) {
    // Its checksum fits, so it was written like this.
    throw new JournalError(
      'corrupt',
      `Event ${sequence} of session ${sessionId} in the journal ${path} is no event that this Spindle knows: ` +
        `${reasonOf(error)}. Run the Spindle that wrote it, or a newer one.`,
      error,
    );
  }
}

function misencoded(): never {
  throw new Error('fewer pieces were encoded than were given');
}

function misunderstood(answer: ThreadAnswer): never {
  throw new Error(`the journal's thread answered ${answer.kind} to another question`);
}

/** When a conversation ends that nobody deletes: after the last instant that a date can name. */
const NEVER = 8_640_000_000_000_000;
