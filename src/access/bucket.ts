import type { Instant, Millis } from '../core/time.ts';

/** A rate with room for some at once. Time comes in, so that it needs no timer. */
export interface Bucket {
  /** Takes some; or says how long until there are as many, in milliseconds. More than its room there never are. */
  take(now: Instant, count?: number): Millis | undefined;
  /** Whether it is as good as new, so that nobody has to remember it. */
  isFull(now: Instant): boolean;
}

/** Rounding of sums of fractions must not put off by a millisecond what is due. */
const ROUNDING_MS = 1e-3;

/** @param room how many there are at once; one second's worth if not given, and at least one */
export function createBucket(perSecond: number, start: Instant, room = Math.max(perSecond, 1)): Bucket {
  const each: Millis = 1_000 / perSecond;
  /** When all that was taken has come back. */
  let fullAt = start;
  return {
    take(now, count = 1) {
      const wait = Math.max(fullAt, now) - now + count * each - room * each;
      if (wait > ROUNDING_MS) return Math.ceil(wait - ROUNDING_MS);
      fullAt = Math.max(fullAt, now) + count * each;
      return undefined;
    },
    isFull: (now) => now >= fullAt,
  };
}
