import type { Load, LoadResult } from './role.ts';
import { ascending, percentile } from './statistics.ts';

/** Keeps calls in flight, and takes the time of each. */
export interface Loading {
  readonly result: Promise<LoadResult>;
  /** A call that began at this time, of `performance.now`, has ended. */
  ended(startedAt: number): void;
}

/**
 * Begins a load.
 *
 * @param start makes one call
 */
export function beginLoad({ inFlight, until }: Load, start: () => void): Loading {
  const result = Promise.withResolvers<LoadResult>();
  const began = performance.now();
  const endsAt = 'milliseconds' in until ? began + until.milliseconds : Number.POSITIVE_INFINITY;
  const maxCalls = 'calls' in until ? until.calls : Number.POSITIVE_INFINITY;
  const latencies: number[] = [];
  let started = 0;

  const startOne = (): void => {
    started += 1;
    start();
  };
  const finish = (now: number): void => {
    latencies.sort(ascending);
    result.resolve({
      calls: latencies.length,
      seconds: (now - began) / 1_000,
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
    });
  };
  for (let index = 0; index < Math.min(inFlight, maxCalls); index++) startOne();

  return {
    result: result.promise,
    ended(startedAt) {
      const now = performance.now();
      latencies.push(now - startedAt);
      if (now < endsAt && started < maxCalls) startOne();
      else if (latencies.length === started) finish(now);
    },
  };
}
