import type { Random } from '../engine/ports.ts';
import { type Instance, load } from './instance.ts';

/** For what a worker is looked for. */
export interface Wanted {
  /** Whether a worker may be given it now. */
  readonly takes: (instance: Instance) => boolean;
  /** The instance that the session had last; it is preferred. */
  readonly last: string | undefined;
}

/**
 * Among workers with a free slot, the less loaded of two random ones: nearly as even as looking at all of
 * them, at the cost of two (5.11). Only where neither is free are the others looked at.
 */
export function select(
  serving: readonly Instance[],
  { takes, last }: Wanted,
  random: Random,
): Instance | undefined {
  if (last !== undefined) {
    const known = serving.find(({ instanceId }) => instanceId === last);
    if (known !== undefined && takes(known)) return known;
  }
  const one = pick(serving, random);
  const other = serving.length > 1 ? pick(serving, random) : one;
  const oneTakes = one !== undefined && takes(one);
  const otherTakes = other !== undefined && other !== one && takes(other);
  if (oneTakes && otherTakes) return load(one) <= load(other) ? one : other;
  if (oneTakes) return one;
  if (otherTakes) return other;
  return serving.find(takes);
}

function pick(serving: readonly Instance[], random: Random): Instance | undefined {
  return serving[Math.floor(random.draw() * serving.length)];
}
