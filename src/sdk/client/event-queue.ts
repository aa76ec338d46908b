import type { CallEvent } from './call-event.ts';

/** Carries events from a stream to whoever iterates over them, at that one's pace. */
export interface EventQueue<Value> extends AsyncIterableIterator<CallEvent<Value>> {
  push(event: CallEvent<Value>): void;
  fail(error: unknown): void;
}

/**
 * A queue that stays small however slow its reader is: reports of progress that wait are one report, and of
 * the other events a call has a few for each attempt. `released` is called once, when nobody reads any more.
 */
export function createEventQueue<Value>(released: () => void): EventQueue<Value> {
  let events: CallEvent<Value>[] = [];
  let failed: { readonly error: unknown } | undefined;
  let over = false;
  let wake = Promise.withResolvers<void>();

  function release(): void {
    if (over) return;
    over = true;
    events = [];
    wake.resolve();
    released();
  }

  return {
    push(event) {
      const last = events.at(-1);
      if (event.kind === 'progress' && last?.kind === 'progress') {
        events[events.length - 1] = {
          ...event,
          completed: event.completed ?? last.completed,
          total: event.total ?? last.total,
          activity: event.activity === '' ? last.activity : event.activity,
          partial: event.partial.length === 0 ? last.partial : event.partial,
        };
      } else {
        events.push(event);
      }
      wake.resolve();
    },
    fail(error) {
      failed ??= { error };
      wake.resolve();
    },
    async next() {
      for (;;) {
        const event = events.shift();
        if (event !== undefined) {
          if (event.kind === 'finished') release();
          return { done: false, value: event };
        }
        if (over) return { done: true, value: undefined };
        if (failed !== undefined) {
          const { error } = failed;
          release();
          throw error;
        }
        wake = Promise.withResolvers<void>();
        await wake.promise;
      }
    },
    async return() {
      release();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
