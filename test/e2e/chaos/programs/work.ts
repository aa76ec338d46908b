import { fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** Arguments of every tool here: which call it is, and how long its handler takes before and after its effect. */
export interface WorkArguments {
  readonly number: number;
  readonly beforeMs: number;
  readonly afterMs: number;
}

/** One execution, as it stands in the file of effects. */
export interface Effect {
  readonly tool: string;
  readonly callId: string;
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly worker: string;
}

/** Not safe to repeat. */
export const ONCE = 'once';
/** Safe to repeat: idempotent, with five attempts. */
export const AGAIN = 'again';
/** Not safe to repeat; holds its result until it is told to go on. */
export const GATED = 'gated';

/** What a handler does: an effect on the world that a crash cannot undo, in the form of a line in a file. */
export interface Work {
  run(effect: Omit<Effect, 'worker'>, args: WorkArguments, gate?: Promise<unknown>): Promise<string>;
}

export function createWork(path: string, worker: string): Work {
  // One write with O_APPEND is one line, also where several processes write.
  const file = openSync(path, 'a');
  return {
    async run(effect, { number, beforeMs, afterMs }, gate) {
      if (beforeMs > 0) await pause(beforeMs);
      writeSync(file, `${JSON.stringify({ ...effect, worker })}\n`);
      fsyncSync(file);
      if (afterMs > 0) await pause(afterMs);
      await gate;
      return `${number} ${effect.idempotencyKey}`;
    },
  };
}
