/**
 * The thread that owns the database of a journal. It exists because a commit waits for the disk: on the engine's
 * own thread, every socket would wait with it.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { INDEX_CHECK_MS, INDEX_CHECK_PAUSE_MS, READ_PAGE_BYTES } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import { JournalError } from './journal-error.ts';
import { openDatabase } from './sqlite-database.ts';
import { failedCommit, openingError, readingError } from './sqlite-error.ts';
import { createIndexCheck } from './sqlite-index-check.ts';
import { createSqlitePruner } from './sqlite-pruner.ts';
import { createSqliteReader } from './sqlite-reader.ts';
import { createSqliteReferences } from './sqlite-references.ts';
import { createSqliteTokens } from './sqlite-tokens.ts';
import { createSqliteWriter } from './sqlite-writer.ts';
import type {
  EventPage,
  ReadQuery,
  ThreadAnswer,
  ThreadError,
  ThreadMessage,
  ThreadOptions,
  ThreadQuestion,
  ThreadRequest,
} from './thread-protocol.ts';

function serve(port: MessagePort, database: DatabaseSync, options: ThreadOptions): void {
  const references = createSqliteReferences(database);
  const writer = createSqliteWriter(database, references, options);
  const pruner = createSqlitePruner(database, references, options.path);
  const reader = createSqliteReader(database, options.path);
  const tokens = createSqliteTokens(database, options.path);

  const check = createIndexCheck(database, options.path);
  let checking: NodeJS.Timeout | undefined;

  /** A little now and then, so that appends hardly wait, until every session was looked at. */
  function checkIndexes(): void {
    try {
      const { damage, done } = check(performance.now() + INDEX_CHECK_MS);
      if (damage !== undefined) send(port, { kind: 'noticed', error: plain(damage) });
      if (!done) checkSoon();
    } catch (error) {
      send(port, { kind: 'noticed', error: plain(readingError(error, options.path)) });
    }
  }

  function checkSoon(): void {
    checking = setTimeout(checkIndexes, INDEX_CHECK_PAUSE_MS);
    checking.unref();
  }

  function end(error: JournalError): void {
    send(port, { kind: 'ended', error: plain(error) });
    port.close();
    clearTimeout(checking);
    // Safe after a failed sync as well: what SQLite copies then are the frames of commits that were synced.
    database.close();
  }

  /** At least one, and then as many as fit a page together: commits wait meanwhile. */
  function readPages(queries: readonly ReadQuery[]): readonly (EventPage | ThreadError)[] {
    const pages: (EventPage | ThreadError)[] = [];
    let size = 0;
    for (const query of queries) {
      if (size >= READ_PAGE_BYTES) break;
      try {
        const page = reader.readEvents(query);
        size += page.bytes.length;
        pages.push(page);
      } catch (error) {
        // Damage is one session's: the others are read.
        pages.push(plain(readingError(error, options.path)));
      }
    }
    return pages;
  }

  function answerTo(question: ThreadQuestion): ThreadAnswer {
    switch (question.kind) {
      case 'commit':
        return { kind: 'committed', results: writer.commit(question.commit) };
      case 'read':
        return { kind: 'events', pages: readPages(question.queries) };
      case 'unfinished':
        return { kind: 'keys', page: reader.readUnfinished(question.afterPosition) };
      case 'tally':
        return { kind: 'tallies', tallies: reader.tally() };
      case 'list':
        return { kind: 'ids', page: reader.readIds(question.query, question.beforePosition) };
      case 'prune':
        writer.forgetHeads();
        return { kind: 'pruned', pruned: pruner.prune(question.query) };
      case 'unreferenced':
        return { kind: 'digests', digests: references.unreferenced(question.tenant, question.digests) };
      case 'load_tokens':
        return { kind: 'tokens', tokens: tokens.load() };
      case 'put_token':
        tokens.put(question.record);
        return { kind: 'done' };
      case 'remove_token':
        tokens.remove(question.id);
        return { kind: 'done' };
      case 'close':
        clearTimeout(checking);
        database.close();
        return { kind: 'closed' };
      default:
        return unreachable(question);
    }
  }

  checkSoon();
  port.on('message', ({ id, question }: ThreadRequest) => {
    try {
      const answer = answerTo(question);
      send(port, { kind: 'answer', id, answer });
      if (question.kind === 'commit' || question.kind === 'prune') writer.checkpoint();
      if (question.kind === 'close') port.close();
    } catch (error) {
      // A full disk is certain, and passes; the writer tells its calls of one in its answer.
      const isPassing = error instanceof JournalError && error.kind === 'full';
      if (WRITING.has(question.kind) && !isPassing) {
        end(error instanceof JournalError ? error : failedCommit(error, options.path));
      } else {
        send(port, {
          kind: 'answer',
          id,
          answer: { kind: 'error', error: plain(readingError(error, options.path)) },
        });
      }
    }
  });
}

/** Bytes that are copied between threads instead of handed over. */
const MAX_COPIED_BYTES = 16 * 1024;

/** After one of these failed, nobody knows what is on disk (7.4). */
const WRITING: ReadonlySet<ThreadQuestion['kind']> = new Set([
  'commit',
  'prune',
  'put_token',
  'remove_token',
  'close',
]);

function send(port: MessagePort, message: ThreadMessage): void {
  const pages = message.kind === 'answer' && message.answer.kind === 'events' ? message.answer.pages : [];
  // Handing a buffer over costs more than copying a small one.
  const large = pages.flatMap((page) =>
    'bytes' in page && page.bytes.length > MAX_COPIED_BYTES ? [page.bytes.buffer] : [],
  );
  port.postMessage(message, large);
}

function plain({ kind, message }: JournalError): ThreadError {
  return { kind, message };
}

async function main(port: MessagePort, options: ThreadOptions): Promise<void> {
  let database: DatabaseSync | undefined;
  try {
    database = await openDatabase(options.path, options.maxBytes);
    // The first statements read more of the file, so this is where some damage shows.
    serve(port, database, options);
  } catch (error) {
    send(port, { kind: 'ended', error: plain(openingError(error, options.path)) });
    port.close();
    database?.close();
    return;
  }
  send(port, { kind: 'opened' });
}

if (parentPort === null)
  throw new Error('sqlite-thread is a worker thread; open a journal with openSqliteJournal');
await main(parentPort, workerData);
