import type { Refusal } from '../core/refusal.ts';

/** Requests that are being answered, on both ports, so that a shutdown can wait for them and then end them. */
export interface OpenRequests {
  /** Adds one, with the way to end it early. The result takes it out again. */
  add(stop: (refusal: Refusal) => void): () => void;
  /** Resolves once nothing is open. */
  idle(): Promise<void>;
  /** Set: what every request is told that comes from now on. */
  readonly refusal: Refusal | undefined;
  /** Lets those that are open go on, and turns every later one away. */
  refuse(refusal: Refusal): void;
  /** Ends every open request with a refusal. */
  stopAll(refusal: Refusal): void;
}

export function createOpenRequests(): OpenRequests {
  const open = new Set<{ readonly stop: (refusal: Refusal) => void }>();
  let waiting: (() => void)[] = [];
  let turnedAway: Refusal | undefined;
  return {
    get refusal() {
      return turnedAway;
    },
    refuse(refusal) {
      turnedAway = refusal;
    },
    add(stop) {
      const entry = { stop };
      open.add(entry);
      return () => {
        open.delete(entry);
        if (open.size > 0) return;
        const woken = waiting;
        waiting = [];
        for (const wake of woken) wake();
      };
    },
    async idle() {
      if (open.size > 0) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    stopAll(refusal) {
      for (const { stop } of [...open]) stop(refusal);
    },
  };
}
