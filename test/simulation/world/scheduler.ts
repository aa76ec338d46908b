import { STALL_MS } from '../../../src/core/limits.ts';
import type { Millis } from '../../../src/core/time.ts';

/** What a process of the simulated world is: something that can stand still, and die. */
export interface Process {
  readonly name: string;
  readonly alive: boolean;
  readonly frozen: boolean;
}

/** What an event is of: after a stall, sockets are read before late alarms ring (5.8). */
export type Source = 'alarm' | 'network' | 'disk' | 'soon' | 'world';

/**
 * The one loop that everything in a simulation runs in. Time jumps from event to event; events at one instant
 * run in the order in which they were made. Between two events every microtask has run: nothing in the world
 * waits for the host, so one turn of its loop is enough.
 */
export interface Scheduler {
  /** Milliseconds since the world began: the true time, which no process knows. */
  readonly now: Millis;
  /** How many events have run. */
  readonly steps: number;
  /** Runs once, unless the owner has died or the result was called. A frozen owner gets it when it thaws. */
  at(time: Millis, source: Source, owner: Process | undefined, run: () => void): () => void;
  process(name: string): Process;
  kill(process: Process): void;
  freeze(process: Process): void;
  thaw(process: Process): void;
  thawAll(): void;
  /** Runs events until there are none before `time`, or until the condition holds. */
  run(time: Millis, until?: () => boolean): Promise<void>;
  /** Called after each event. */
  onStep(look: () => void): void;
}

interface Event {
  time: Millis;
  /** Orders events of one instant. */
  order: number;
  readonly source: Source;
  readonly owner: Mutable<Process> | undefined;
  readonly run: () => void;
  cancelled: boolean;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

export function createScheduler(): Scheduler {
  const heap: Event[] = [];
  const backlogs = new Map<Process, Event[]>();
  let now = 0;
  let steps = 0;
  let made = 0;
  let look: () => void = () => undefined;

  const before = (a: Event, b: Event): boolean => a.time < b.time || (a.time === b.time && a.order < b.order);

  const push = (event: Event): void => {
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex];
      if (parent === undefined || !before(event, parent)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = event;
  };

  const pop = (): Event | undefined => {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      const right = heap[2 * index + 2];
      if (left === undefined) break;
      const child = right !== undefined && before(right, left) ? right : left;
      if (!before(child, last)) break;
      heap[index] = child;
      index = child === left ? 2 * index + 1 : 2 * index + 2;
    }
    heap[index] = last;
    return first;
  };

  /** Every microtask runs before the host's loop turns. */
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  const frozen = new Set<Process>();

  const thaw = (process: Process): void => {
    (process as Mutable<Process>).frozen = false;
    frozen.delete(process);
    const waiting = backlogs.get(process) ?? [];
    backlogs.delete(process);
    const isLate = ({ source, time }: Event): boolean => source === 'alarm' && now - time >= STALL_MS;
    for (const event of [...waiting.filter((one) => !isLate(one)), ...waiting.filter(isLate)]) {
      event.time = now;
      event.order = ++made;
      push(event);
    }
  };

  return {
    get now() {
      return now;
    },
    get steps() {
      return steps;
    },
    at(time, source, owner, run) {
      const event: Event = {
        time: Math.max(time, now),
        order: ++made,
        source,
        owner: owner as Mutable<Process> | undefined,
        run,
        cancelled: false,
      };
      push(event);
      return () => {
        event.cancelled = true;
      };
    },
    process: (name) => ({ name, alive: true, frozen: false }),
    kill(process) {
      (process as Mutable<Process>).alive = false;
      backlogs.delete(process);
    },
    freeze(process) {
      (process as Mutable<Process>).frozen = true;
      frozen.add(process);
    },
    thaw,
    thawAll() {
      for (const process of [...frozen]) thaw(process);
    },
    async run(time, until = () => false) {
      for (let next = heap[0]; next !== undefined && next.time <= time && !until(); next = heap[0]) {
        pop();
        const { owner } = next;
        if (next.cancelled || owner?.alive === false) continue;
        if (owner?.frozen) {
          const backlog = backlogs.get(owner) ?? [];
          backlogs.set(owner, backlog);
          backlog.push(next);
          continue;
        }
        now = next.time;
        steps += 1;
        next.run();
        await settle();
        look();
      }
      if (!until()) now = Math.max(now, time);
    },
    onStep(callback) {
      look = callback;
    },
  };
}
