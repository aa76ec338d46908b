import type { Dice } from './dice.ts';
import type { History } from './history.ts';
import type { Connection, Network } from './network.ts';
import type { Process, Scheduler } from './scheduler.ts';
import { startWorker, type WorkerProcess } from './worker-process.ts';

/** Keeps a worker running in each of some slots. */
export interface Fleet {
  /** The newest process of each slot; one that is over has its successor on the way. */
  readonly workers: readonly WorkerProcess[];
  /** Every process that serves, also one whose name another has taken. */
  running(): readonly WorkerProcess[];
  start(): void;
  any(): WorkerProcess;
  /** SIGKILL. The next process has a name of its own, or takes the old one's, without its token. */
  kill(sameName: boolean): boolean;
  /** Another process takes the name of one that still runs. */
  twin(): boolean;
  drain(): boolean;
  changeCapacity(): boolean;
  changeDefinitions(): boolean;
  /** The stream has been welcomed, and takes frames. */
  serves(stream: Connection): boolean;
  /** Lets every handler go that hangs. */
  letGo(): void;
}

export interface FleetWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  readonly network: Network;
  readonly died: (process: Process) => void;
  readonly calm: () => boolean;
  readonly decides: boolean;
  readonly slots: number;
}

export function createFleet(world: FleetWorld): Fleet {
  const { scheduler, dice, history, network } = world;
  const workers: WorkerProcess[] = [];
  /** Processes whose name was taken over while they ran. */
  const ghosts: WorkerProcess[] = [];
  const welcomed = new Set<number>();
  let processes = 0;
  let version = 1;
  history.listen((fact) => {
    if (fact.kind === 'worker_read' && fact.frame.case === 'welcome') welcomed.add(fact.stream);
  });

  const launch = (slot: number, instanceId: string | undefined): void => {
    const number = ++processes;
    workers[slot] = startWorker(
      {
        name: `worker-${slot}.${number}`,
        slot,
        instanceId: instanceId ?? `instance-${number}`,
        maxInFlight: dice.int(2, 6),
        version,
      },
      {
        scheduler,
        dice: dice.fork('worker'),
        history,
        network,
        calm: world.calm,
        decides: world.decides,
        ended(worker) {
          // Whoever looks after workers starts another, unless this one had a successor already.
          if (workers[slot] === worker) relaunch(slot, undefined);
        },
      },
    );
  };

  const relaunch = (slot: number, instanceId: string | undefined): void => {
    const pause = world.calm() ? 10 : dice.latency(3_000, 40_000);
    scheduler.at(scheduler.now + pause, 'world', undefined, () => launch(slot, instanceId));
  };

  const serving = (worker: WorkerProcess): boolean => worker.process.alive && !worker.over;

  const someone = (): WorkerProcess | undefined => {
    const alive = workers.filter(serving);
    return alive.length === 0 ? undefined : dice.pick(alive);
  };

  const end = ({ process }: WorkerProcess): void => {
    scheduler.kill(process);
    history.record({ kind: 'worker_died', worker: process.name, why: 'killed' });
    world.died(process);
  };

  return {
    workers,
    running: () => [...workers, ...ghosts].filter(serving),
    start() {
      for (let slot = 0; slot < world.slots; slot++) launch(slot, undefined);
    },
    any: () => dice.pick(workers),
    kill(sameName) {
      const victim = someone();
      if (victim === undefined) return false;
      end(victim);
      relaunch(victim.slot, sameName ? victim.instanceId : undefined);
      return true;
    },
    twin() {
      const old = someone();
      if (old === undefined) return false;
      ghosts.push(old);
      launch(old.slot, old.instanceId);
      return true;
    },
    drain() {
      const worker = someone();
      if (worker === undefined) return false;
      scheduler.at(scheduler.now, 'world', worker.process, () => worker.driver.stop('a new version'));
      version += dice.int(0, 1);
      return true;
    },
    changeCapacity() {
      const worker = someone();
      if (worker === undefined) return false;
      const limit = dice.int(0, 6);
      const set = (maxInFlight: number) => () => {
        worker.maxInFlight = maxInFlight;
        worker.driver.setMaxInFlight(maxInFlight);
      };
      scheduler.at(scheduler.now, 'world', worker.process, set(limit));
      // One that takes nothing would leave the rest of the world idle.
      if (limit === 0)
        scheduler.at(scheduler.now + dice.between(500, 8_000), 'world', worker.process, set(4));
      return true;
    },
    changeDefinitions() {
      const worker = someone();
      if (worker === undefined) return false;
      version += 1;
      const newest = version;
      scheduler.at(scheduler.now, 'world', worker.process, () => worker.setVersion(newest));
      return true;
    },
    serves: ({ name }) => welcomed.has(name.stream),
    letGo() {
      for (const worker of [...workers, ...ghosts]) worker.letGo();
    },
  };
}
