import type { Instant } from '../core/time.ts';
import type { Clock } from './ports.ts';

/** One alarm for each of many sleepers, on one alarm of the clock. */
export interface Alarms<T> {
  /** Sets, moves, or with undefined removes the alarm of a sleeper. */
  set(sleeper: T, at: Instant | undefined): void;
  /** Removes all; none is set any more. */
  close(): void;
}

interface Entry<T> {
  readonly sleeper: T;
  at: Instant;
  /** Its place in the heap. */
  index: number;
}

/**
 * A binary heap in which each sleeper knows its place, so that setting, moving and removing cost O(log n).
 * Timers of the runtime would do as well, if calls did not set and remove three of them each.
 */
export function createAlarms<T extends object>(clock: Clock, ring: (sleeper: T) => void): Alarms<T> {
  const entries = new Map<T, Entry<T>>();
  const heap: Entry<T>[] = [];
  let armedAt = Number.POSITIVE_INFINITY;
  let disarm: (() => void) | undefined;
  let closed = false;

  const put = (entry: Entry<T>, index: number): void => {
    heap[index] = entry;
    entry.index = index;
  };

  const rise = (entry: Entry<T>): void => {
    let index = entry.index;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex];
      if (parent === undefined || parent.at <= entry.at) break;
      put(parent, index);
      index = parentIndex;
    }
    put(entry, index);
  };

  const sink = (entry: Entry<T>): void => {
    let index = entry.index;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      const child = right !== undefined && left !== undefined && right.at < left.at ? right : left;
      if (child === undefined || child.at >= entry.at) break;
      const childIndex = child.index;
      put(child, index);
      index = childIndex;
    }
    put(entry, index);
  };

  const remove = (entry: Entry<T>): void => {
    entries.delete(entry.sleeper);
    const last = heap.pop();
    if (last === undefined || last === entry) return;
    put(last, entry.index);
    rise(last);
    sink(last);
  };

  /** The clock's alarm may be too early, which costs one look; it is never too late. */
  const arm = (): void => {
    const first = heap[0];
    if (first === undefined || first.at >= armedAt) return;
    disarm?.();
    armedAt = first.at;
    disarm = clock.alarm(first.at, wake);
  };

  const wake = (): void => {
    armedAt = Number.POSITIVE_INFINITY;
    const now = clock.now();
    for (let first = heap[0]; first !== undefined && first.at <= now; first = heap[0]) {
      remove(first);
      ring(first.sleeper);
    }
    arm();
  };

  return {
    set(sleeper, at) {
      if (closed) return;
      const entry = entries.get(sleeper);
      if (at === undefined) {
        if (entry !== undefined) remove(entry);
        return;
      }
      if (entry === undefined) {
        const added: Entry<T> = { sleeper, at, index: heap.length };
        entries.set(sleeper, added);
        heap.push(added);
        rise(added);
      } else {
        entry.at = at;
        rise(entry);
        sink(entry);
      }
      arm();
    },
    close() {
      closed = true;
      disarm?.();
      entries.clear();
      heap.length = 0;
    },
  };
}
