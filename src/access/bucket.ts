import type { Instant, Millis } from '../core/time.ts';

/** A rate with room for one second's worth at once. Time comes in, so that it needs no timer. */
export interface Bucket {
  /** Takes one; or says how long until there is one, in milliseconds. */
  take(now: Instant): Millis | undefined;
  /** Whether it is as good as new, so that nobody has to remember it. */
  isFull(now: Instant): boolean;
}

/** Rounding of sums of fractions must not put off by a millisecond what is due. */
const ROUNDING_MS = 1e-3;

export function createBucket(perSecond: number, start: Instant): Bucket {
  const each: Millis = 1_000 / perSecond;
  const room: Millis = (Math.max(perSecond, 1) - 1) * each;
  /** When all that was taken has come back. */
  let fullAt = start;
  return {
    take(now) {
      const wait = fullAt - now - room;
      if (wait > ROUNDING_MS) return Math.ceil(wait - ROUNDING_MS);
      fullAt = Math.max(fullAt, now) + each;
      return undefined;
    },
    isFull: (now) => now >= fullAt,
  };
}
