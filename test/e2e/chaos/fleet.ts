import { setTimeout as pause } from 'node:timers/promises';
import { type EngineHome, launchEngine, listening } from './engine-home.ts';
import type { EngineLife, WorkerLife } from './evidence.ts';
import type { Deed, Victim } from './plan.ts';
import type { Processes, RunningProgram } from './processes.ts';
import type { WorkerProgram } from './programs/worker.ts';

/** A worker of the SDK, or one that speaks the protocol by itself. */
export type WorkerKind = 'worker' | 'raw-worker';

/** An engine and its workers. Whatever goes has a successor at once. */
export interface Fleet {
  readonly workers: ReadonlyMap<string, WorkerLife>;
  readonly engines: readonly EngineLife[];
  /** Ends of processes that nobody asked for, and drains that did not end with 0. */
  readonly faults: readonly string[];
  /** Resolves when the engine of this moment listens. */
  listening(): Promise<void>;
  /** Resolves when the engine of this moment listens, and all workers but one are connected to it. */
  gathered(): Promise<void>;
  /** Resolves when it is done and the successor has been launched, though not when that one is ready. */
  perform(deed: Deed): Promise<void>;
  /** Drains the workers. */
  stopWorkers(): Promise<void>;
  /** Drains the engine. */
  stopEngine(): Promise<void>;
}

export interface FleetOptions {
  readonly home: EngineHome;
  readonly kinds: readonly WorkerKind[];
  readonly effects: string;
  readonly maxInFlight: number;
}

interface Member {
  readonly program: RunningProgram;
  /** It is about to be ended on purpose. */
  expected: boolean;
}

const DRAIN_TIMEOUT_MS = 30_000;

export function launchFleet(processes: Processes, options: FleetOptions): Fleet {
  const { home, kinds, effects, maxInFlight } = options;
  const workers = new Map<string, WorkerLife>();
  const engines: EngineLife[] = [];
  const faults: string[] = [];
  const draining = new Set<Promise<void>>();
  const members = new Map<Victim, Member & { readonly life: WorkerLife | undefined }>();
  let ready: Promise<void> = Promise.resolve();

  let changed = Promise.withResolvers<void>();
  const isGathered = (): boolean => {
    const launchedAt = engines.at(-1)?.launchedAt ?? 0;
    const connected = [...members.values()].filter(
      ({ life }) => (life?.connectedAt.at(-1) ?? 0) > launchedAt,
    );
    return connected.length >= kinds.length - 1;
  };

  function join(victim: Victim, program: RunningProgram, life: WorkerLife | undefined): void {
    const member = { program, expected: false, life };
    members.set(victim, member);
    const name = life?.name ?? 'the engine';
    program.exited.then(({ code, signal }) => {
      if (member.expected) return;
      faults.push(`${name} ended by itself (${signal ?? code}): ${program.complaints()}`);
    });
  }

  function launch(victim: Victim): void {
    if (victim === 'engine') {
      engines.push({ launchedAt: Date.now() });
      const program = launchEngine(processes, home);
      join(victim, program, undefined);
      ready = listening(program);
      // It may be killed before it listens; who waits for it hears of that.
      ready.catch(() => undefined);
      return;
    }
    const name = `${kinds[victim]}-${victim}-${workers.size}`;
    const life: WorkerLife = { name, connectedAt: [], killedAt: undefined };
    workers.set(name, life);
    const program: WorkerProgram = {
      address: home.address,
      name,
      effects,
      maxInFlight,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
    };
    const started = processes.start(kinds[victim] ?? 'worker', program, {
      onReport(report) {
        if (report.kind !== 'connected') return;
        life.connectedAt.push(report.at);
        changed.resolve();
        changed = Promise.withResolvers<void>();
      },
    });
    join(victim, started, life);
  }

  async function kill(victim: Victim): Promise<void> {
    const member = members.get(victim);
    if (member === undefined) return;
    member.expected = true;
    if (member.life !== undefined) member.life.killedAt = Date.now();
    member.program.signal('SIGKILL');
    await member.program.exited;
  }

  async function connectedOnce(life: WorkerLife): Promise<void> {
    while (life.connectedAt.length === 0) await changed.promise;
  }

  async function drain(victim: Victim): Promise<void> {
    const member = members.get(victim);
    if (member === undefined) return;
    // Before it listens to signals, one ends it like any process, with the signal as its exit.
    if (member.life === undefined) await ready;
    else await connectedOnce(member.life);
    member.expected = true;
    member.program.signal('SIGTERM');
    const { code, signal } = await member.program.exited;
    if (code === 0) return;
    const name = member.life?.name ?? 'the engine';
    faults.push(`${name} was drained and ended with ${signal ?? code}: ${member.program.complaints()}`);
  }

  launch('engine');
  for (const place of kinds.keys()) launch(place);

  return {
    workers,
    engines,
    faults,
    listening: () => ready,
    async gathered() {
      while (!isGathered()) await changed.promise;
    },
    async perform(deed) {
      const { victim } = deed;
      switch (deed.kind) {
        case 'kill':
          await kill(victim);
          launch(victim);
          return;
        case 'freeze': {
          const member = members.get(victim);
          member?.program.signal('SIGSTOP');
          await pause(deed.forMs);
          member?.program.signal('SIGCONT');
          return;
        }
        case 'drain': {
          const drained = drain(victim);
          if (victim === 'engine') await drained;
          else draining.add(drained);
          launch(victim);
          return;
        }
      }
    },
    async stopWorkers() {
      await Promise.all([...draining, ...[...kinds.keys()].map(drain)]);
    },
    stopEngine: () => drain('engine'),
  };
}
