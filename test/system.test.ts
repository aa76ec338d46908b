import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { STALL_MS } from '../src/core/limits.ts';
import { systemClock } from '../src/system.ts';

/** Stands still, as a process does that is frozen. */
function stall(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS + 100);
}

describe('an alarm of the clock', () => {
  it('5.8: rings after a stall', async () => {
    const clock = systemClock();
    const rung = Promise.withResolvers<number>();
    const at = clock.now() + 1;
    clock.alarm(at, () => rung.resolve(clock.now()));
    stall();
    // The alarm itself keeps no process alive.
    const awake = setInterval(() => undefined, 1_000);
    expect(await rung.promise).toBeGreaterThanOrEqual(at);
    clearInterval(awake);
  });

  it('5.8: that what came during a stall disarms does not ring', async () => {
    const clock = systemClock();
    let rang = false;
    const disarm = clock.alarm(clock.now() + 1, () => {
      rang = true;
    });
    const disarmed = new Promise<void>((resolve) => {
      // Due with the alarm and after it, so that its turns lie between those of the alarm.
      setTimeout(() => {
        setImmediate(() => {
          disarm();
          resolve();
        });
      }, 2);
    });
    stall();
    await disarmed;
    for (let turns = 0; turns < 5; turns++) await turn();
    expect(rang).toBe(false);
  });
});
