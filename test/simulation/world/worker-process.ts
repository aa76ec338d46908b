import { createWorkerDriver, type WorkerDriver } from '../../../src/sdk/worker/driver.ts';
import { decidersOf } from './deciders.ts';
import type { Dice } from './dice.ts';
import type { History } from './history.ts';
import type { Network } from './network.ts';
import type { Process, Scheduler } from './scheduler.ts';
import { type ToolWorld, toolsOf } from './tools.ts';

/** One process of a worker. A place for a worker, its slot, sees several of them. */
export interface WorkerProcess {
  readonly process: Process;
  readonly slot: number;
  readonly instanceId: string;
  readonly driver: WorkerDriver;
  /** It has ended by itself, and another has to be started. */
  readonly over: boolean;
  maxInFlight: number;
  letGo(): void;
  readonly probes: ReadonlySet<() => void>;
  setVersion(version: number): void;
}

export interface WorkerWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  readonly network: Network;
  readonly calm: () => boolean;
  /** Binds agents: there are conversations in this world. */
  readonly decides: boolean;
  readonly ended: (worker: WorkerProcess) => void;
}

export interface WorkerPlan {
  readonly name: string;
  readonly slot: number;
  readonly instanceId: string;
  readonly maxInFlight: number;
  readonly version: number;
}

/** The tool that only this process offers. */
export function probeOf({ name }: { readonly name: string }): string {
  return `probe-${name}`;
}

export function startWorker(plan: WorkerPlan, world: WorkerWorld): WorkerProcess {
  const { scheduler, dice, history, network } = world;
  const { name, slot, instanceId, maxInFlight } = plan;
  const process = scheduler.process(name);
  history.record({ kind: 'worker_started', worker: name, instanceId });
  // Workers have clocks of their own, and nothing may depend on them.
  const offset = dice.between(-1e9, 1e9);
  const hung = new Set<() => void>();
  const probes = new Set<() => void>();
  const tools: ToolWorld = { scheduler, dice, history, process, hung, probes, calm: world.calm };
  let unfinished = 0;
  const end = (why: string): void => {
    started.over = true;
    history.record({ kind: 'worker_ended', worker: name, unfinished, why });
    world.ended(started);
  };
  const driver = createWorkerDriver(
    {
      identity: {
        instanceId,
        workerName: name,
        buildId: String(plan.version),
        sdk: 'simulation',
        labels: {},
      },
      tools: toolsOf(tools, plan.version, probeOf(process)),
      agents: world.decides
        ? decidersOf({ scheduler, dice: dice.fork('deciders'), history, process, calm: world.calm })
        : [],
      maxInFlight,
      drainTimeoutMs: 30_000,
      tell: (status) => {
        if (status.kind === 'stopped') unfinished = status.unfinished;
      },
    },
    {
      clock: {
        now: () => scheduler.now + offset,
        alarm: (at, ring) => scheduler.at(at - offset, 'alarm', process, ring),
      },
      random: { draw: dice.draw, token: dice.token },
      soon: (run) => scheduler.at(scheduler.now, 'soon', process, run),
      connect: (listener) => network.connect(process, listener),
    },
    {
      ready: () => undefined,
      stopped: () => end('drained'),
      failed: (error) => end(`${error.code}: ${error.message}`),
    },
  );
  const started = {
    process,
    slot,
    instanceId,
    driver,
    over: false,
    maxInFlight,
    probes,
    letGo() {
      for (const release of hung) release();
      hung.clear();
    },
    setVersion: (version: number) => driver.setTools(toolsOf(tools, version, probeOf(process))),
  };
  scheduler.at(scheduler.now, 'world', process, () => driver.start());
  return started;
}
