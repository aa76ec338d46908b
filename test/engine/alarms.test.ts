import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAlarms, NOWHERE, type Sleeper } from '../../src/engine/alarms.ts';
import { virtualClock } from './virtual.ts';

describe('alarms', () => {
  it('ring each sleeper once, at its time or later, in order, as a sorted list would', () => {
    const step = fc.record({
      sleeper: fc.nat(9),
      at: fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined, freq: 4 }),
      pass: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = virtualClock();
        const start = clock.now();
        const rung: [number, number][] = [];
        const sleepers = Array.from({ length: 10 }, (_, id) => ({ id, wakesAt: 0, place: NOWHERE }));
        const alarms = createAlarms<Sleeper & { readonly id: number }>(clock, ({ id }) =>
          rung.push([id, clock.now()]),
        );
        /** The dumb twin. */
        const due = new Map<number, number>();
        for (const { sleeper, at, pass } of steps) {
          const now = clock.now();
          const instant = at === undefined ? undefined : now + at;
          const named = sleepers[sleeper];
          if (named === undefined) continue;
          alarms.set(named, instant);
          if (instant === undefined) due.delete(sleeper);
          else due.set(sleeper, instant);
          const until = now + pass;
          rung.length = 0;
          while (clock.ringNext(until));
          clock.moveTo(until);
          const expected = [...due].filter(([, when]) => when <= until);
          for (const [id] of expected) due.delete(id);
          expect(rung.toSorted()).toEqual(expected.toSorted());
          expect(rung.map(([, when]) => when)).toEqual(
            rung.map(([, when]) => when).toSorted((a, b) => a - b),
          );
        }
        expect(clock.now()).toBeGreaterThanOrEqual(start);
        expect(clock.alarms).toBeLessThanOrEqual(1);
        alarms.close();
        expect(clock.alarms).toBe(0);
        for (const sleeper of sleepers) alarms.set(sleeper, clock.now());
        expect(clock.alarms).toBe(0);
      }),
    );
  });
});
