import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { MAX_BUCKETS, SESSIONS_RETRY_MS } from '../core/limits.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import { credentialOf } from '../core/rights.ts';
import type { Clock, Leave, Quotas } from '../engine/ports.ts';
import { type Bucket, createBucket } from './bucket.ts';
import { type Counts, createCounts } from './counts.ts';
import type { LimitSettings, Limits } from './settings.ts';

type Kind = 'tenant' | 'credential';

/** Limits that hold for a caller, with the name under which they are counted. */
type Holding = readonly [Kind, string, Limits];

/** What tenants and credentials may use of the engine (9.3). Nothing here waits: whoever is over is told when to come again. */
export function createQuotas(settings: LimitSettings, clock: Clock): Quotas {
  const buckets = new Map<string, Bucket>();
  const streams = createCounts();
  const inFlight = createCounts();
  const sessions = createCounts();

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
  const ofTenant = (tenant: string): Holding => [
    'tenant',
    `t ${tenant}`,
    settings.tenants[tenant] ?? settings.tenant,
  ];
  /** The narrower first: whoever is over a limit of its own takes nothing from its tenant. */
  const holding = (caller: Caller): readonly Holding[] => [
    // An issuer is one credential for many subjects.
    ['credential', `c ${caller.tenant} ${credentialOf(caller)} ${caller.subject}`, settings.credential],
    ofTenant(caller.tenant),
  ];
  /** Sessions belong to a subject, whichever credential it comes with. */
  const owning = (tenant: string, subject: string): readonly Holding[] => [
    ['credential', `s ${tenant} ${subject}`, settings.credential],
    ofTenant(tenant),
  ];

  /** Only what is limited is counted. */
  const namesOf = (held: readonly Holding[], of: Countable): readonly string[] =>
    held.flatMap(([, name, limits]) => (limits[of] === undefined ? [] : [name]));

  const take = (
    counts: Counts,
    held: readonly Holding[],
    of: Countable,
    over: (kind: Kind, value: number) => Refusal,
  ): Outcome<Leave> => {
    for (const [kind, name, { [of]: limit }] of held)
      if (limit !== undefined && counts.of(name) >= limit) return { ok: false, refusal: over(kind, limit) };
    return accepted(counts.take(namesOf(held, of)));
  };

  return {
    rate(caller) {
      for (const [kind, name, { callsPerSecond }] of holding(caller)) {
        if (callsPerSecond === undefined) continue;
        const wait = bucketOf(name, callsPerSecond).take(clock.now());
        if (wait !== undefined)
          return { ...overLimit('calls_per_second', kind, callsPerSecond), retryAfterMs: wait };
      }
      return undefined;
    },
    begin: (caller) =>
      take(inFlight, holding(caller), 'callsInFlight', (kind, value) =>
        overLimit('calls_in_flight', kind, value),
      ),
    hold: (caller) => inFlight.take(namesOf(holding(caller), 'callsInFlight')),
    stream: (caller) =>
      take(streams, holding(caller), 'streams', (kind, value) => overLimit('streams', kind, value)),
    keep: ({ tenant, subject }) => take(sessions, owning(tenant, subject), 'sessions', overSessions),
    kept(tenant, subject, change) {
      for (const name of namesOf(owning(tenant, subject), 'sessions')) sessions.add(name, change);
    },
    limitsSessions: [settings.tenant, settings.credential, ...Object.values(settings.tenants)].some(
      ({ sessions: limit }) => limit !== undefined,
    ),
  };
}

type Countable = 'callsInFlight' | 'streams' | 'sessions';

function overLimit(limit: string, kind: Kind, value: number): Refusal {
  return refused(
    'overloaded',
    `the limit ${limit} of your ${kind}, ${value}, is reached; make fewer requests, or ask the operator for more`,
    { limit, of: kind },
  ).refusal;
}

/** Age removes no session, so coming again is of use once somebody has deleted one. */
function overSessions(kind: Kind, value: number): Refusal {
  const { refusal } = refused(
    'overloaded',
    `the limit sessions of your ${kind}, ${value}, is reached: delete sessions that nobody needs any more ` +
      '(DeleteSession), those of subagents too, or ask the operator for more',
    { limit: 'sessions', of: kind },
  );
  return { ...refusal, retryAfterMs: SESSIONS_RETRY_MS };
}
