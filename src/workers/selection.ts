import type { Instant } from '../core/time.ts';
import type { Random } from '../engine/ports.ts';
import { canTake, type Instance, load } from './instance.ts';

/** For what a worker is looked for. */
export interface Wanted {
  readonly toolName: string;
  readonly sessionId: string;
  /** The instance that the session had last; it is preferred. */
  readonly last: string | undefined;
  readonly now: Instant;
}

/**
 * Among workers with a free slot, the less loaded of two random ones: nearly as even as looking at all of
 * them, at the cost of two (5.11). Only where neither is free are the others looked at.
 */
export function select(
  serving: readonly Instance[],
  { toolName, sessionId, last, now }: Wanted,
  random: Random,
): Instance | undefined {
  if (last !== undefined) {
    const known = serving.find(({ instanceId }) => instanceId === last);
    if (known !== undefined && canTake(known, toolName, sessionId, now)) return known;
  }
  const one = pick(serving, random);
  const other = serving.length > 1 ? pick(serving, random) : one;
  const oneTakes = one !== undefined && canTake(one, toolName, sessionId, now);
  const otherTakes = other !== undefined && other !== one && canTake(other, toolName, sessionId, now);
  if (oneTakes && otherTakes) return load(one) <= load(other) ? one : other;
  if (oneTakes) return one;
  if (otherTakes) return other;
  return serving.find((instance) => canTake(instance, toolName, sessionId, now));
}

function pick(serving: readonly Instance[], random: Random): Instance | undefined {
  return serving[Math.floor(random.draw() * serving.length)];
}
