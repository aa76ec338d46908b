import { join } from 'node:path';
import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { type Client, createClient } from '../../../src/sdk/index.ts';
import { type EngineHome, engineHome, launchEngine, listening } from './engine-home.ts';
import { readEffects, readLogs } from './evidence.ts';
import { type Exit, openProcesses, type RunningProgram } from './processes.ts';
import type { Effect, WorkArguments } from './programs/work.ts';
import type { WorkerProgram } from './programs/worker.ts';

/** An engine of its own with a client, for tests of what becomes of calls when processes end. */
export interface Scene extends AsyncDisposable {
  readonly home: EngineHome;
  readonly client: Client;
  /** The engine of this moment. */
  engine(): RunningProgram;
  /** Ends the engine by a signal, and tells how it ended. */
  endEngine(signal: NodeJS.Signals): Promise<Exit>;
  /** Starts an engine where the last one was, and waits until it listens. */
  startEngine(): Promise<void>;
  /** Starts a worker, and waits for its welcome. */
  startWorker(options?: Partial<WorkerProgram>): Promise<RunningProgram>;
  effects(): Promise<Effect[]>;
  /** Drains the engine, and reads the log of every call from the file. */
  logs(): Promise<Map<string, SessionEvent[]>>;
}

/** No hold: what a handler does, it does at once. */
export const AT_ONCE: WorkArguments = { number: 1, beforeMs: 0, afterMs: 0 };

/** Longer than any start of an engine takes. */
const PATIENCE_MS = 600_000;
const STOP_GRACE_MS = 200;

export async function openScene(resumeGraceMs: number, stopGraceMs: number = STOP_GRACE_MS): Promise<Scene> {
  const processes = await openProcesses();
  const home = await engineHome(processes, { resumeGraceMs, stopGraceMs });
  const client = createClient({ address: home.address, unavailableAfterMs: PATIENCE_MS });
  const effects = join(processes.folder, 'effects.jsonl');
  let engine = launchEngine(processes, home);
  let workers = 0;

  const scene: Scene = {
    home,
    client,
    engine: () => engine,
    endEngine(signal) {
      engine.signal(signal);
      return engine.exited;
    },
    async startEngine() {
      engine = launchEngine(processes, home);
      await listening(engine);
    },
    async startWorker(options) {
      workers += 1;
      const program: WorkerProgram = {
        address: home.address,
        name: `worker-${workers}`,
        effects,
        maxInFlight: 64,
        drainTimeoutMs: 30_000,
        ...options,
      };
      const worker = processes.start('worker', program);
      await worker.next('connected');
      return worker;
    },
    effects: () => readEffects(effects),
    async logs() {
      await scene.endEngine('SIGTERM');
      return readLogs(home.journal);
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await processes[Symbol.asyncDispose]();
    },
  };
  try {
    await listening(engine);
    return scene;
  } catch (error) {
    await scene[Symbol.asyncDispose]();
    throw error;
  }
}
