import type { Dice } from './dice.ts';
import type { EngineProcess } from './engine-process.ts';
import type { Process, Scheduler } from './scheduler.ts';

export interface ReachWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  /** The engine that takes requests now. */
  readonly engine: () => EngineProcess | undefined;
}

/** The way of a request to an engine. */
export interface Reach {
  /** Runs something in the engine that listens when the request arrives, or tells that nobody took it. */
  run(run: (engine: EngineProcess) => void, unreachable: () => void): void;
  /** Requests that a process had not looked at are lost with it. */
  engineDied(process: Process): void;
}

export function createReach({ scheduler, dice, engine: listening }: ReachWorld): Reach {
  /** Requests that have reached a process and that it has not looked at. */
  const unread = new Set<{ readonly process: Process; readonly unreachable: () => void }>();
  return {
    run(run, unreachable) {
      scheduler.at(scheduler.now + dice.latency(2, 80), 'network', undefined, () => {
        const engine = listening();
        if (engine === undefined) {
          unreachable();
          return;
        }
        const request = { process: engine.process, unreachable };
        unread.add(request);
        scheduler.at(scheduler.now, 'network', engine.process, () => {
          unread.delete(request);
          run(engine);
        });
      });
    },
    engineDied(process) {
      for (const request of [...unread]) {
        if (request.process !== process) continue;
        unread.delete(request);
        request.unreachable();
      }
    },
  };
}
