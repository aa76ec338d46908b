import type { Dice } from './dice.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** One direction of a stream: in order, with delays, until it is cut. */
export interface Pipe<T> {
  /** Who reads. What was sent before is delivered from then on. */
  to(reader: Process): void;
  /** False when the reader is behind; `onDrain` tells when it has caught up. */
  send(message: T): boolean;
  /** Behind everything that was sent; nothing follows. */
  last(run: () => void): void;
  onDrain(writer: Process, drained: () => void): void;
  pause(): void;
  resume(): void;
  /** Delivers nothing for a while. */
  hold(millis: number): void;
  /** Of what is under way a part, from the first on, still arrives; of a silent cut nothing does. */
  cut(silent: boolean): void;
}

/** Messages that may be under way before the writer is told to wait. */
const WINDOW = 12;

export function createPipe<T>(scheduler: Scheduler, dice: Dice, deliver: (message: T) => void): Pipe<T> {
  let queue: ({ readonly message: T } | { readonly last: () => void })[] = [];
  let reader: Process | undefined;
  let writer: Process | undefined;
  let drained: () => void = () => undefined;
  let paused = false;
  let blocked = false;
  let cut = false;
  let heldUntil = 0;
  /** Events on their way, each of which delivers the first of the queue. */
  let scheduled = 0;
  let lastAt = 0;

  const schedule = (): void => {
    if (reader === undefined) return;
    for (; scheduled < queue.length; scheduled++) {
      lastAt = Math.max(lastAt, heldUntil, scheduler.now + dice.latency(2, 60));
      scheduler.at(lastAt, 'network', reader, arrive);
    }
  };

  const arrive = (): void => {
    scheduled -= 1;
    if (paused) return;
    const next = queue.shift();
    if (next === undefined) return;
    if ('last' in next) next.last();
    else deliver(next.message);
    if (blocked && queue.length <= WINDOW / 2) {
      blocked = false;
      scheduler.at(scheduler.now + dice.latency(1, 20), 'network', writer, drained);
    }
  };

  return {
    to(process) {
      reader = process;
      schedule();
    },
    send(message) {
      if (!cut) {
        queue.push({ message });
        schedule();
      } else if (queue.length <= WINDOW) queue.push({ message });
      if (queue.length > WINDOW) blocked = true;
      return !blocked;
    },
    last(run) {
      if (cut) return;
      queue.push({ last: run });
      schedule();
    },
    onDrain(process, callback) {
      writer = process;
      drained = callback;
    },
    pause() {
      paused = true;
    },
    resume() {
      if (!paused) return;
      paused = false;
      schedule();
    },
    hold(millis) {
      heldUntil = Math.max(heldUntil, scheduler.now + millis);
    },
    cut(silent) {
      cut = true;
      queue = silent ? [] : queue.slice(0, dice.int(0, queue.length));
    },
  };
}
