import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Instant } from '../core/time.ts';

/** What of a session decides whether it has to go. */
export interface Occupant {
  readonly caller: Pick<Caller, 'tenant'>;
  /** Requests and streams that are being answered. */
  readonly open: number;
  readonly usedAt: Instant;
}

/**
 * Which session ends so that a tenant can begin one more where all places are taken; undefined where none may. The
 * tenant that has the most gives one up, idle or not, so that nobody keeps others out or drives theirs away (9.3).
 * A tenant that has the most itself gives up an idle one of its own.
 */
export function displacedBy(tenant: string, sessions: ReadonlyMap<string, Occupant>): string | undefined {
  const counts = new Map<string, number>();
  for (const { caller } of sessions.values()) counts.set(caller.tenant, (counts.get(caller.tenant) ?? 0) + 1);
  const [largest] = [...counts].sort(([, one], [, other]) => other - one);
  if (largest === undefined) return undefined;
  const [crowd, most] = largest;
  const own = (counts.get(tenant) ?? 0) >= most;
  const from = own ? tenant : crowd;
  const candidates = [...sessions].filter(
    ([, { caller, open }]) => caller.tenant === from && !(own && open > 0),
  );
  const [first] = candidates.sort(
    ([, one], [, other]) => Number(one.open > 0) - Number(other.open > 0) || one.usedAt - other.usedAt,
  );
  return first?.[0];
}
