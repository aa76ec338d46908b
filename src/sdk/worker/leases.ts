import type { HeldLease } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { AnswerOutcome } from '../outcome.ts';
import type { Subject } from '../work.ts';

/** A dispatch that this process holds: it runs, or its answer waits for its acknowledgement (5.7). */
export type Lease =
  | { readonly state: 'running'; readonly subject: Subject }
  | { readonly state: 'answered'; readonly subject: Subject; readonly outcome: AnswerOutcome };

/**
 * What a process holds, of its newest stream and of older ones. Losing a stream changes nothing here: a
 * lease leaves by the acknowledgement of its answer, or by being given back.
 */
export interface Leases {
  start(leaseToken: string, subject: Subject): void;
  /** False where the lease is not running: its answer has been given, or it was never held. */
  answer(leaseToken: string, outcome: AnswerOutcome): boolean;
  /** Gives a running lease up. False where it is not running. */
  giveBack(leaseToken: string): boolean;
  /** The lease that an acknowledgement ends; undefined where it is not held. */
  release(leaseToken: string): Lease | undefined;
  get(leaseToken: string): Lease | undefined;
  /** For a heartbeat. */
  tokens(): string[];
  /** For a hello. */
  held(): Pick<HeldLease, 'leaseToken' | 'answered'>[];
  /** The answers that nobody has acknowledged, in the order in which their dispatches came. */
  unacknowledged(): (readonly [leaseToken: string, outcome: AnswerOutcome])[];
  readonly size: number;
}

export function createLeases(): Leases {
  const leases = new Map<string, Lease>();

  return {
    start(leaseToken, subject) {
      leases.set(leaseToken, { state: 'running', subject });
    },
    answer(leaseToken, outcome) {
      const lease = leases.get(leaseToken);
      if (lease?.state !== 'running') return false;
      leases.set(leaseToken, { ...lease, state: 'answered', outcome });
      return true;
    },
    giveBack: (leaseToken) => leases.get(leaseToken)?.state === 'running' && leases.delete(leaseToken),
    release(leaseToken) {
      const lease = leases.get(leaseToken);
      // An engine cannot acknowledge what has not been said; the handler is still running.
      if (lease?.state !== 'answered') return undefined;
      leases.delete(leaseToken);
      return lease;
    },
    get: (leaseToken) => leases.get(leaseToken),
    tokens: () => [...leases.keys()],
    held: () =>
      [...leases].map(([leaseToken, { state }]) => ({ leaseToken, answered: state === 'answered' })),
    unacknowledged: () =>
      [...leases].flatMap(([leaseToken, lease]) =>
        lease.state === 'answered' ? [[leaseToken, lease.outcome] as const] : [],
      ),
    get size() {
      return leases.size;
    },
  };
}
