import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { MAX_BUCKETS } from '../core/limits.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import { credentialOf } from '../core/rights.ts';
import type { Clock, Quotas } from '../engine/ports.ts';
import { type Bucket, createBucket } from './bucket.ts';
import type { LimitSettings, Limits } from './settings.ts';

type Kind = 'tenant' | 'credential';

/** What tenants and credentials may use of the engine (9.3). Nothing here waits: whoever is over is told when to come again. */
export function createQuotas(settings: LimitSettings, clock: Clock): Quotas {
  const buckets = new Map<string, Bucket>();
  const open = new Map<string, number>();

  const bucketOf = (name: string, perSecond: number): Bucket => {
    const known = buckets.get(name);
    if (known !== undefined) return known;
    if (buckets.size >= MAX_BUCKETS) {
      const now = clock.now();
      for (const [other, bucket] of buckets) if (bucket.isFull(now)) buckets.delete(other);
    }
    const made = createBucket(perSecond, clock.now());
    buckets.set(name, made);
    return made;
  };
  /** The limits that hold for a caller, with the name of whom they are about. */
  const holding = (caller: Caller): readonly (readonly [Kind, string, Limits])[] => [
    ['tenant', `t ${caller.tenant}`, settings.tenants[caller.tenant] ?? settings.tenant],
    // An issuer is one credential for many subjects.
    ['credential', `c ${caller.tenant} ${credentialOf(caller)} ${caller.subject}`, settings.credential],
  ];

  return {
    call(caller, inFlight) {
      for (const [kind, name, { callsPerSecond, callsInFlight }] of holding(caller)) {
        if (callsInFlight !== undefined && inFlight(kind) >= callsInFlight)
          return over(kind, 'calls_in_flight', callsInFlight);
        if (callsPerSecond === undefined) continue;
        const wait = bucketOf(name, callsPerSecond).take(clock.now());
        if (wait !== undefined) return over(kind, 'calls_per_second', callsPerSecond, wait);
      }
      return undefined;
    },

    stream(caller): Outcome<() => void> {
      const held = holding(caller).filter(([, , { streams }]) => streams !== undefined);
      for (const [kind, name, { streams = 0 }] of held)
        if ((open.get(name) ?? 0) >= streams) return { ok: false, refusal: over(kind, 'streams', streams) };
      for (const [, name] of held) open.set(name, (open.get(name) ?? 0) + 1);
      let left = false;
      return accepted(() => {
        if (left) return;
        left = true;
        for (const [, name] of held) {
          const rest = (open.get(name) ?? 0) - 1;
          if (rest > 0) open.set(name, rest);
          else open.delete(name);
        }
      });
    },
  };
}

function over(kind: Kind, limit: string, value: number, retryAfterMs?: number): Refusal {
  const { refusal } = refused(
    'overloaded',
    `the limit ${limit} of your ${kind}, ${value}, is reached; make fewer requests, or ask the operator for more`,
    { limit, of: kind },
  );
  return retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs };
}
