import type { Dice } from './dice.ts';
import type { Disk } from './disk.ts';
import { type EngineProcess, startEngine } from './engine-process.ts';
import type { History } from './history.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** Keeps an engine running: one process at a time, each on the same disk. */
export interface Plant {
  /** The process there is; undefined between two. */
  readonly current: EngineProcess | undefined;
  start(): void;
  /** SIGKILL. The next process finds its wall clock moved by so much. */
  crash(why: string, clockStep: number): boolean;
  /** SIGTERM: it drains, and another takes its place. */
  drain(): boolean;
  /** What the wall clock went back in all: sessions stood still for so long at most (7.2). */
  readonly setBack: number;
}

export interface PlantWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  readonly disk: Disk;
  readonly died: (process: Process) => void;
  /** The faults are over: what has to start starts at once. */
  readonly calm: () => boolean;
  /** Engines have model providers: there are conversations in this world. */
  readonly talks: boolean;
}

export function createPlant(world: PlantWorld): Plant {
  const { scheduler, dice, history, disk } = world;
  let current: EngineProcess | undefined;
  let processes = 0;
  let wallOffset = 0;
  let setBack = 0;
  let draining = false;

  const start = (): void => {
    draining = false;
    current = startEngine(`engine-${++processes}`, {
      scheduler,
      dice: dice.fork('engine'),
      disk,
      history,
      wallOffset,
      calm: world.talks ? world.calm : undefined,
      failed: ({ process }) =>
        scheduler.at(scheduler.now + dice.latency(2, 200), 'world', undefined, () => {
          if (current?.process === process) end('the journal failed', 0);
        }),
    });
  };

  const end = (why: string, clockStep: number): void => {
    if (current === undefined) return;
    const { process } = current;
    current = undefined;
    wallOffset += clockStep;
    setBack += Math.max(0, -clockStep);
    disk.crash(process);
    scheduler.kill(process);
    history.record({ kind: 'engine_died', engine: process.name, why });
    world.died(process);
    const pause = world.calm() ? 10 : dice.latency(2_000, 40_000);
    scheduler.at(scheduler.now + pause, 'world', undefined, start);
  };

  return {
    get current() {
      return current;
    },
    get setBack() {
      return setBack;
    },
    start,
    crash(why, clockStep) {
      if (current === undefined) return false;
      end(why, clockStep);
      return true;
    },
    drain() {
      const leaving = current;
      if (leaving === undefined || !leaving.listens || draining) return false;
      draining = true;
      const isCurrent = (): boolean => current === leaving;
      scheduler.at(scheduler.now, 'world', leaving.process, () => {
        leaving.engine.drain(dice.between(100, 5_000)).then(() => {
          leaving.streams.shutDown(0);
          scheduler.at(scheduler.now + 5, 'world', leaving.process, () => {
            if (isCurrent()) end('drained', 0);
          });
        }, reportBug);
      });
      return true;
    },
  };
}

function reportBug(error: unknown): void {
  throw error;
}
