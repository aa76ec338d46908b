import type { Instant, Millis } from '../../src/core/time.ts';
import type { Clock } from '../../src/engine/ports.ts';

/** A clock that stands until it is moved. */
export interface ManualClock extends Clock {
  advance(by: Millis): void;
}

export function createManualClock(start: Instant = 1_000_000): ManualClock {
  let now = start;
  const alarms = new Set<{ readonly at: Instant; readonly ring: () => void }>();
  return {
    now: () => now,
    alarm(at, ring) {
      const alarm = { at, ring };
      alarms.add(alarm);
      return () => {
        alarms.delete(alarm);
      };
    },
    advance(by) {
      now += by;
      for (const alarm of [...alarms].sort((left, right) => left.at - right.at)) {
        if (alarm.at > now || !alarms.delete(alarm)) continue;
        alarm.ring();
      }
    },
  };
}
