import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { duration, instantOf, millisOf, timestamp } from '../../src/core/time.ts';

describe('times in messages', () => {
  it('7.2: an instant of the clock survives its timestamp, to the fraction of a millisecond', () => {
    // Wall time plus monotonic time has fractions; 1e12 to 4e12 are the years 2001 to 2096.
    const instants = fc.double({ min: 1e12, max: 4e12, noNaN: true });
    fc.assert(
      fc.property(instants, (instant) => {
        expect(instantOf(timestamp(instant))).toBe(instant);
      }),
    );
  });

  it('4.4: a length of whole milliseconds survives its message', () => {
    const lengths = fc.integer({ min: -(2 ** 45), max: 2 ** 45 });
    fc.assert(
      fc.property(lengths, (millis) => {
        expect(millisOf(duration(millis))).toBe(millis);
      }),
    );
  });

  it('4.4: lengths beyond 2^31 ms are kept', () => {
    expect(millisOf(duration(2 ** 31 + 1))).toBe(2 ** 31 + 1);
  });

  it('no fraction makes nanoseconds that a message may not have', () => {
    const below = fc.double({ min: -1e6, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(below, (millis) => {
        expect(Math.abs(duration(millis).nanos)).toBeLessThan(1e9);
        expect(timestamp(millis).nanos).toBeGreaterThanOrEqual(0);
        expect(timestamp(millis).nanos).toBeLessThan(1e9);
      }),
    );
    expect(duration(999.999_999_9).nanos).toBe(999_999_999);
    expect(timestamp(-0.000_000_1).nanos).toBe(999_999_999);
  });
});
