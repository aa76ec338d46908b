import {
  MAX_COMMIT_APPENDS,
  MAX_COMMIT_BYTES,
  MAX_QUEUED_APPEND_BYTES,
  MAX_QUEUED_APPENDS,
} from '../core/limits.ts';
import type { AppendOutcome } from '../engine/ports.ts';
import type { EncodedAppend } from './commit-batch.ts';
import { JournalError } from './journal-error.ts';
import type { CallResult } from './thread-protocol.ts';

/** One call of `append`. It is written whole or not at all, but for appends that are stale. */
interface Call {
  readonly appends: readonly EncodedAppend[];
  readonly size: number;
  readonly resolve: (outcomes: readonly AppendOutcome[]) => void;
  readonly reject: (error: unknown) => void;
}

export interface CommitQueue {
  /** Resolves when the appends are durable. `size` is what their events take, in bytes. */
  add(appends: readonly EncodedAppend[], size: number): Promise<readonly AppendOutcome[]>;
  /** Resolves when nothing waits. */
  drained(): Promise<void>;
}

const APPENDED: AppendOutcome = { kind: 'appended' };

/**
 * Group commit. Syncing a disk costs the same for one append as for a thousand, so what is added while a commit
 * is under way goes with the next one; and the first waits for the end of its tick, in which others come.
 */
export function createCommitQueue(
  path: string,
  commit: (calls: readonly (readonly EncodedAppend[])[]) => Promise<readonly CallResult[]>,
): CommitQueue {
  let queue: Call[] = [];
  let appendCount = 0;
  let byteCount = 0;
  let inFlight = false;
  let scheduled = false;
  const idle: (() => void)[] = [];

  function schedule(): void {
    if (scheduled || inFlight || queue.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      flush();
    });
  }

  function flush(): void {
    const calls = takeBatch();
    inFlight = true;
    commit(calls.map((call) => call.appends))
      .then(
        (results) => settle(calls, results),
        (error: unknown) => {
          for (const call of calls) call.reject(error);
        },
      )
      .finally(() => {
        inFlight = false;
        for (const call of calls) {
          appendCount -= call.appends.length;
          byteCount -= call.size;
        }
        schedule();
        if (appendCount === 0) for (const resolve of idle.splice(0)) resolve();
      });
  }

  /** As many calls as fit a commit, and at least one. */
  function takeBatch(): readonly Call[] {
    let appends = 0;
    let bytes = 0;
    const end = queue.findIndex((call) => {
      appends += call.appends.length;
      bytes += call.size;
      return appends > MAX_COMMIT_APPENDS || bytes > MAX_COMMIT_BYTES;
    });
    const batch = end < 0 ? queue : queue.slice(0, Math.max(1, end));
    queue = end < 0 ? [] : queue.slice(batch.length);
    return batch;
  }

  return {
    add(appends, size) {
      if (appendCount + appends.length > MAX_QUEUED_APPENDS || byteCount + size > MAX_QUEUED_APPEND_BYTES) {
        return Promise.reject(overloaded(path, appendCount, byteCount));
      }
      const { promise, resolve, reject } = Promise.withResolvers<readonly AppendOutcome[]>();
      queue.push({ appends, size, resolve, reject });
      appendCount += appends.length;
      byteCount += size;
      schedule();
      return promise;
    },

    async drained() {
      while (appendCount > 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        idle.push(resolve);
        await promise;
      }
    },
  };
}

/** Tells each call what became of it; those that the results leave out were appended whole. */
function settle(calls: readonly Call[], results: readonly CallResult[]): void {
  const exceptions = new Map(results.map((result) => [result.call, result]));
  for (const [index, { appends, resolve, reject }] of calls.entries()) {
    const exception = exceptions.get(index);
    if (exception?.kind === 'refused') {
      reject(new JournalError(exception.error.kind, exception.error.message));
      continue;
    }
    const outcomes = appends.map(() => APPENDED);
    for (const { append, actualSequence } of exception?.conflicts ?? []) {
      outcomes[append] = { kind: 'conflict', actualSequence };
    }
    resolve(outcomes);
  }
}

function overloaded(path: string, appends: number, bytes: number): JournalError {
  return new JournalError(
    'overloaded',
    `${appends} appends of ${bytes} bytes wait for the journal ${path} already; nothing of this one was queued. ` +
      'Try again later, or give the journal a faster disk.',
  );
}
