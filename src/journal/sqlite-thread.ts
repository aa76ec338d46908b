/**
 * The thread that owns the database of a journal. It exists because a commit waits for the disk: on the engine's
 * own thread, every socket would wait with it.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { unreachable } from '../core/unreachable.ts';
import { JournalError } from './journal-error.ts';
import { openDatabase } from './sqlite-database.ts';
import { failedCommit, openingError, readingError } from './sqlite-error.ts';
import { createSqliteReader } from './sqlite-reader.ts';
import { createSqliteWriter } from './sqlite-writer.ts';
import type {
  ThreadAnswer,
  ThreadError,
  ThreadMessage,
  ThreadOptions,
  ThreadQuestion,
  ThreadRequest,
} from './thread-protocol.ts';

function serve(port: MessagePort, database: DatabaseSync, options: ThreadOptions): void {
  const writer = createSqliteWriter(database, options);
  const reader = createSqliteReader(database, options.path);

  function end(error: JournalError): void {
    send(port, { kind: 'ended', error: plain(error) });
    port.close();
    // Safe after a failed sync as well: what SQLite copies then are the frames of commits that were synced.
    database.close();
  }

  function answerTo(question: ThreadQuestion): ThreadAnswer {
    switch (question.kind) {
      case 'commit':
        return { kind: 'committed', results: writer.commit(question.commit) };
      case 'read':
        return { kind: 'events', page: reader.readEvents(question.page) };
      case 'unfinished':
        return { kind: 'keys', page: reader.readUnfinished(question.afterPosition) };
      case 'list':
        return { kind: 'ids', page: reader.readIds(question.query, question.beforePosition) };
      case 'close':
        database.close();
        return { kind: 'closed' };
      default:
        return unreachable(question);
    }
  }

  port.on('message', ({ id, question }: ThreadRequest) => {
    try {
      const answer = answerTo(question);
      send(port, { kind: 'answer', id, answer });
      if (question.kind === 'commit') writer.checkpoint();
      if (question.kind === 'close') port.close();
    } catch (error) {
      if (question.kind === 'commit' || question.kind === 'close') {
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

function send(port: MessagePort, message: ThreadMessage): void {
  const isPage = message.kind === 'answer' && message.answer.kind === 'events';
  port.postMessage(
    message,
    isPage && message.answer.kind === 'events' ? [message.answer.page.bytes.buffer] : [],
  );
}

function plain({ kind, message }: JournalError): ThreadError {
  return { kind, message };
}

async function main(port: MessagePort, options: ThreadOptions): Promise<void> {
  let database: DatabaseSync;
  try {
    database = await openDatabase(options.path, options.maxBytes);
  } catch (error) {
    send(port, { kind: 'ended', error: plain(openingError(error, options.path)) });
    port.close();
    return;
  }
  serve(port, database, options);
  send(port, { kind: 'opened' });
}

if (parentPort === null)
  throw new Error('sqlite-thread is a worker thread; open a journal with openSqliteJournal');
await main(parentPort, workerData);
