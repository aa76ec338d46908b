import { create } from '@bufbuild/protobuf';
import { RetryPoliciesSchema } from '../../../gen/spindle/v1/retry_pb.ts';
import { buildEngine, type Engine } from '../../../src/engine/engine.ts';
import type { Clock, Random } from '../../../src/engine/ports.ts';
import { createSchemas } from '../../../src/schema/schemas.ts';
import { createRegistry } from '../../../src/workers/registry.ts';
import { createResumeTokens } from '../../../src/workers/resume-token.ts';
import { createWorkerStreams, type WorkerStreams } from '../../../src/workers/streams.ts';
import type { Dice } from './dice.ts';
import type { Disk } from './disk.ts';
import type { History } from './history.ts';
import { createModels } from './models.ts';
import type { Process, Scheduler } from './scheduler.ts';
import { KID, KID_CONFIG } from './talks.ts';

/** One process of the engine, from its start to its death. */
export interface EngineProcess {
  readonly process: Process;
  readonly engine: Engine;
  readonly streams: WorkerStreams;
  /** It has recovered: requests and streams are taken. */
  readonly listens: boolean;
  readonly clock: Clock;
}

export interface EngineWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly disk: Disk;
  readonly history: History;
  /** What the wall clock of this process is ahead of the world's time, from its start to its end. */
  readonly wallOffset: number;
  /** Whether model providers behave; undefined where there are none. */
  readonly calm: (() => boolean) | undefined;
  readonly failed: (engine: EngineProcess) => void;
}

/** The wall time at which a world begins. */
export const EPOCH = 1_750_000_000_000;

/** The same for all: a restarted engine knows its workers again (5.8). */
const SECRET = new Uint8Array(32).fill(7);

/** Schemas have no state that a crash could lose, and compiling them anew for each process is slow. */
const schemas = createSchemas();

/** Sessions of the other agent bring their configuration. */
const AGENTS = new Map([[KID, KID_CONFIG]]);

export function startEngine(name: string, world: EngineWorld): EngineProcess {
  const { scheduler, dice, disk, history, wallOffset } = world;
  const process = scheduler.process(name);
  history.record({ kind: 'engine_started', engine: name });
  const clock: Clock = {
    now: () => EPOCH + wallOffset + scheduler.now,
    alarm: (at, ring) => scheduler.at(at - EPOCH - wallOffset, 'alarm', process, ring),
  };
  const random: Random = { draw: dice.draw, token: dice.token };
  const observer = { report: () => undefined };
  const { journal, blobs } = disk.open(process);
  const registry = createRegistry({
    clock,
    random,
    observer,
    schemas,
    resumeTokens: createResumeTokens(SECRET),
    soon: (run) => scheduler.at(scheduler.now, 'soon', process, run),
  });
  const streams = createWorkerStreams(registry);
  const { calm } = world;
  const engine = buildEngine({
    journal,
    blobs,
    clock,
    random,
    workers: registry,
    schemas,
    observer,
    ...(calm === undefined
      ? {}
      : {
          models: createModels({ scheduler, dice: dice.fork('models'), history, process, calm }),
          agents: AGENTS,
        }),
    // A wider layer asks for more attempts, which makes no tool safe to repeat (4.2).
    policies: create(RetryPoliciesSchema, { tool: { maxAttempts: 3 } }),
    failed: () => world.failed(started),
  });
  const started = { process, engine, streams, listens: false, clock };
  scheduler.at(scheduler.now, 'world', process, () => {
    engine.recover().then(
      () => {
        started.listens = true;
        history.record({ kind: 'engine_listens', engine: name });
      },
      () => world.failed(started),
    );
  });
  return started;
}
