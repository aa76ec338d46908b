import { Worker } from 'node:worker_threads';
import { unreachable } from '../core/unreachable.ts';
import type { Observer } from '../engine/ports.ts';
import { JournalError } from './journal-error.ts';
import type {
  ThreadAnswer,
  ThreadError,
  ThreadMessage,
  ThreadOptions,
  ThreadQuestion,
  ThreadRequest,
} from './thread-protocol.ts';

/** The thread of a journal, as its owner sees it. */
export interface JournalThread {
  /** Rejects with a JournalError, and at once when the thread has ended. Answers come in the order of questions. */
  ask(question: ThreadQuestion, transfer?: readonly ArrayBuffer[]): Promise<ThreadAnswer>;
  /** Why nothing is answered any more. */
  fault(): JournalError | undefined;
  /** Ends the thread after the questions that were asked. Never rejects. */
  close(): Promise<void>;
}

interface Waiting {
  readonly resolve: (answer: ThreadAnswer) => void;
  readonly reject: (error: JournalError) => void;
}

/** Runs the thread's file as it is, TypeScript here and JavaScript once it is compiled. */
export function startThread(options: ThreadOptions): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new Worker(new URL(`./sqlite-thread.${extension}`, import.meta.url), {
    name: 'spindle journal',
    workerData: options,
  });
}

/** Waits until the worker has opened its journal; rejects with the JournalError that says why it could not. */
export async function connectThread(
  worker: Worker,
  path: string,
  observer: Observer | undefined,
): Promise<JournalThread> {
  const waiting = new Map<number, Waiting>();
  let asked = 0;
  let fault: JournalError | undefined;
  let closing = false;
  const opened = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();

  function end(error: JournalError): void {
    if (fault !== undefined) return;
    fault = error;
    opened.reject(error);
    const rejected = [...waiting.values()];
    waiting.clear();
    worker.unref();
    for (const { reject } of rejected) reject(error);
    if (error.kind === 'failed') observer?.report('error', 'journal_ended', { path, message: error.message });
  }

  function settle(id: number, answer: ThreadAnswer): void {
    const question = waiting.get(id);
    waiting.delete(id);
    // A question in flight keeps the process alive; an idle journal does not.
    if (waiting.size === 0) worker.unref();
    if (answer.kind === 'error') question?.reject(revive(answer.error));
    else question?.resolve(answer);
  }

  function receive(message: ThreadMessage): void {
    switch (message.kind) {
      case 'opened':
        worker.unref();
        opened.resolve();
        break;
      case 'noticed':
        observer?.report('error', 'journal_damaged', { path, message: message.error.message });
        break;
      case 'ended':
        end(revive(message.error));
        break;
      case 'answer':
        settle(message.id, message.answer);
        break;
      default:
        unreachable(message);
    }
  }

  worker.on('message', receive);
  worker.on('error', (error) => end(crashed(path, error.message)));
  worker.on('messageerror', (error) => end(crashed(path, error.message)));
  worker.on('exit', (code) => {
    // Node may deliver the answer to 'close' and the exit in one go, before anybody hears of the answer.
    end(closing && code === 0 ? closed(path) : crashed(path, `it left with code ${code}`));
    exited.resolve();
  });
  await opened.promise;

  function ask(question: ThreadQuestion, transfer: readonly ArrayBuffer[] = []): Promise<ThreadAnswer> {
    if (fault !== undefined) return Promise.reject(fault);
    asked += 1;
    const request: ThreadRequest = { id: asked, question };
    const { promise, resolve, reject } = Promise.withResolvers<ThreadAnswer>();
    if (waiting.size === 0) worker.ref();
    waiting.set(request.id, { resolve, reject });
    worker.postMessage(request, transfer);
    return promise;
  }

  return {
    ask,
    fault: () => fault,
    async close() {
      closing = true;
      // A thread that has ended is closed, and whoever waited for it knows why.
      await ask({ kind: 'close' }).catch((error: unknown) => error);
      fault ??= closed(path);
      worker.ref();
      await exited.promise;
    },
  };
}

function revive({ kind, message }: ThreadError): JournalError {
  return new JournalError(kind, message);
}

function closed(path: string): JournalError {
  return new JournalError('closed', `The journal ${path} is closed.`);
}

function crashed(path: string, reason: string): JournalError {
  return new JournalError(
    'failed',
    `The thread of the journal ${path} ended: ${reason}. Whether its last events are on disk is unknown, so ` +
      'nothing more is recorded. Start the engine again: it goes on from what is there.',
  );
}
