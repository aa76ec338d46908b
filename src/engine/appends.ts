import { MAX_COMMIT_APPENDS } from '../core/limits.ts';
import { faultKind } from './journal-fault.ts';
import type { Append, AppendOutcome, Journal } from './ports.ts';

/** What became of an append. `failed`: nothing of it was written, or nobody knows; the error says which. */
export type Settled = AppendOutcome | { readonly kind: 'failed'; readonly error: unknown };

/** Takes an append, and tells once what became of it. */
export type AppendSession = (append: Append, settled: (outcome: Settled) => void) => void;

interface Queued {
  readonly append: Append;
  readonly settled: (outcome: Settled) => void;
}

/**
 * What sessions append in one tick goes to the journal in one call: a promise for each of them would be a good part
 * of what a call costs. New sessions go apart, because the journal refuses a call that holds one as a whole, and
 * that must not keep running sessions from recording how they end (7.4).
 */
export function createAppends(journal: Journal): AppendSession {
  const running = createBatches(journal);
  const fresh = createBatches(journal);
  return (append, settled) => {
    const add = append.expectedSequence === 0 ? fresh : running;
    add({ append, settled });
  };
}

function createBatches(journal: Journal): (queued: Queued) => void {
  let batch: Queued[] = [];
  return (queued) => {
    // A batch that is full leaves when its turn comes as well; what follows makes another one.
    if (batch.length === 0 || batch.length >= MAX_COMMIT_APPENDS) {
      const opened: Queued[] = [];
      batch = opened;
      queueMicrotask(() => {
        if (batch === opened) batch = [];
        write(journal, opened);
      });
    }
    batch.push(queued);
  };
}

function write(journal: Journal, batch: readonly Queued[]): void {
  journal.append(batch.map(({ append }) => append)).then(
    (outcomes) => {
      for (let index = 0; index < batch.length; index++) {
        batch[index]?.settled(outcomes[index] ?? MISSING);
      }
    },
    (error: unknown) => {
      // The call was refused whole, and nothing of it was written: damage to one session is not that of others.
      if (faultKind(error) === 'corrupt' && batch.length > 1) for (const one of batch) write(journal, [one]);
      else for (const { settled } of batch) settled({ kind: 'failed', error });
    },
  );
}

const MISSING: Settled = {
  kind: 'failed',
  error: new Error('the journal answered no outcome for an append'),
};
