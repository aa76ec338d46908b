import { RECONNECT_INITIAL_MS, RECONNECT_MAX_MS } from '../core/limits.ts';
import type { Millis } from '../core/time.ts';

/** The waits between reconnects (5.3). */
export interface Backoff {
  /** The next wait: full jitter under a bound that doubles from 0.25 s to 15 s. */
  next(): Millis;
  /** Starts over, after a connect that worked. */
  reset(): void;
}

export function createBackoff(draw: () => number): Backoff {
  let bound = RECONNECT_INITIAL_MS;
  return {
    next() {
      const wait = draw() * bound;
      bound = Math.min(RECONNECT_MAX_MS, bound * 2);
      return wait;
    },
    reset() {
      bound = RECONNECT_INITIAL_MS;
    },
  };
}
