import type { Instant } from '../core/time.ts';
import type { Clock } from './ports.ts';

/** What an alarm wakes. The fields are for its alarms alone. */
export interface Sleeper {
  wakesAt: Instant;
  /** Its place in the heap; NOWHERE while no alarm is set. */
  place: number;
}

/** Of a sleeper without an alarm. */
export const NOWHERE = -1;

/** One alarm for each of many sleepers, on one alarm of the clock. */
export interface Alarms<T extends Sleeper> {
  /** Sets, moves, or with undefined removes the alarm of a sleeper. */
  set(sleeper: T, at: Instant | undefined): void;
  /** Removes all; none is set any more. */
  close(): void;
}

/**
 * A binary heap in which each sleeper knows its place, so that setting, moving and removing cost O(log n).
 * Timers of the runtime would do as well, if calls did not set and remove three of them each.
 */
export function createAlarms<T extends Sleeper>(clock: Clock, ring: (sleeper: T) => void): Alarms<T> {
  const heap: T[] = [];
  let armedAt = Number.POSITIVE_INFINITY;
  let disarm: (() => void) | undefined;
  let closed = false;

  const put = (sleeper: T, place: number): void => {
    heap[place] = sleeper;
    sleeper.place = place;
  };

  const rise = (sleeper: T): void => {
    let { place } = sleeper;
    while (place > 0) {
      const parentPlace = (place - 1) >> 1;
      const parent = heap[parentPlace];
      if (parent === undefined || parent.wakesAt <= sleeper.wakesAt) break;
      put(parent, place);
      place = parentPlace;
    }
    put(sleeper, place);
  };

  const sink = (sleeper: T): void => {
    let { place } = sleeper;
    for (;;) {
      const left = heap[2 * place + 1];
      const right = heap[2 * place + 2];
      const child = right !== undefined && left !== undefined && right.wakesAt < left.wakesAt ? right : left;
      if (child === undefined || child.wakesAt >= sleeper.wakesAt) break;
      const childPlace = child.place;
      put(child, place);
      place = childPlace;
    }
    put(sleeper, place);
  };

  const remove = (sleeper: T): void => {
    const { place } = sleeper;
    sleeper.place = NOWHERE;
    const last = heap.pop();
    if (last === undefined || last === sleeper) return;
    put(last, place);
    rise(last);
    sink(last);
  };

  /** The clock's alarm may be too early, which costs one look; it is never too late. */
  const arm = (): void => {
    const first = heap[0];
    if (first === undefined || first.wakesAt >= armedAt) return;
    disarm?.();
    armedAt = first.wakesAt;
    disarm = clock.alarm(first.wakesAt, wake);
  };

  const wake = (): void => {
    armedAt = Number.POSITIVE_INFINITY;
    const now = clock.now();
    for (let first = heap[0]; first !== undefined && first.wakesAt <= now; first = heap[0]) {
      remove(first);
      ring(first);
    }
    arm();
  };

  return {
    set(sleeper, at) {
      if (closed) return;
      if (at === undefined) {
        if (sleeper.place !== NOWHERE) remove(sleeper);
        return;
      }
      sleeper.wakesAt = at;
      if (sleeper.place === NOWHERE) put(sleeper, heap.length);
      rise(sleeper);
      sink(sleeper);
      arm();
    },
    close() {
      closed = true;
      disarm?.();
      heap.length = 0;
    },
  };
}
