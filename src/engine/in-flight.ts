import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { IN_FLIGHT_COUNT_MS } from '../core/limits.ts';
import type { Refusal } from '../core/refusal.ts';
import { credentialOf } from '../core/rights.ts';
import type { Instant } from '../core/time.ts';
import type { Clock, Quotas } from './ports.ts';
import type { Sessions } from './sessions.ts';

/** Asks whether a caller may make one more call or turn; undefined where it may. */
export type AskQuota = (caller: Caller) => Refusal | undefined;

/**
 * Counts what has not ended, for limits. Of a tenant, that is what is in memory. Of a credential it is counted anew
 * once in a while, and what was begun since is added: so no count is ever left behind by a call that ended unnoticed.
 */
export function createAskQuota(quotas: Quotas | undefined, sessions: Sessions, clock: Clock): AskQuota {
  if (quotas === undefined) return () => undefined;
  let counts = new Map<string, number>();
  let countedAt: Instant = Number.NEGATIVE_INFINITY;

  const recount = (): void => {
    counts = new Map();
    countedAt = clock.now();
    for (const { key, session } of sessions.all()) {
      for (const { caller, phase } of session.calls.values())
        if (caller !== undefined && phase.kind !== 'finished') add({ ...caller, tenant: key.tenant });
    }
  };
  const add = (caller: Caller): void => {
    const name = nameOf(caller);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  const ofCredential = (caller: Caller): number => {
    if (clock.now() >= countedAt + IN_FLIGHT_COUNT_MS) recount();
    return counts.get(nameOf(caller)) ?? 0;
  };
  return (caller) => {
    const refusal = quotas.call(caller, (of) =>
      of === 'tenant' ? sessions.count(caller.tenant) : ofCredential(caller),
    );
    if (refusal === undefined) add(caller);
    return refusal;
  };
}

function nameOf(caller: Caller): string {
  return `${caller.tenant} ${credentialOf(caller)} ${caller.subject}`;
}
