import { create } from '@bufbuild/protobuf';
import { CallerSchema } from '../../../gen/spindle/v1/call_pb.ts';
import type { Millis } from '../../../src/core/time.ts';
import { armFaults } from './arming.ts';
import { createCallers } from './callers.ts';
import { createClients } from './clients.ts';
import { createDice } from './dice.ts';
import { createDisk, type Log } from './disk.ts';
import { type Fault, MOMENT_PATIENCE_MS, planFaults } from './faults.ts';
import { createFleet } from './fleet.ts';
import { createHistory, type Observed } from './history.ts';
import { createNetwork } from './network.ts';
import { createPlant } from './plant.ts';
import { type Probe, runProbes } from './probes.ts';
import { createScheduler, type Process } from './scheduler.ts';
import { createStrikes } from './strike.ts';
import { planTalks, type Talk } from './talks.ts';
import { type Intent, planWorkload } from './workload.ts';

const WORKER = create(CallerSchema, { tenant: 'tenant', subject: 'anonymous' });

export interface WorldOptions {
  readonly seed: number;
  readonly calls?: number;
  readonly workers?: number;
  readonly faults?: number;
  /** Conversations, beside the direct calls. */
  readonly sessions?: number;
}

/** What happened in a world, from its beginning to its end. */
export interface Story {
  readonly seed: number;
  readonly facts: readonly Observed[];
  readonly logs: readonly Log[];
  readonly intents: readonly Intent[];
  readonly talks: readonly Talk[];
  readonly plannedFaults: readonly Fault[];
  /** When the last fault was over: from here on everything has to come to its end. */
  readonly calmAt: Millis;
  /** How far the wall clock went back in all. */
  readonly setBack: Millis;
  /** Calls and turns whose end somebody does not know. */
  readonly unanswered: readonly string[];
  readonly probes: readonly Probe[];
  /** Something threw that must not. */
  readonly crash: unknown;
}

/** New calls come until then … */
const CALLS_UNTIL_MS = 50_000;
/** … and faults until then. */
const FAULTS_UNTIL_MS = 70_000;
/** The default total timeout, the longest backoff, and every grace: by then each call has ended. */
const QUIET_BY_MS = 1_200_000;

/** Lives a whole world through. Nothing in it depends on anything but the options. */
export async function live({
  seed,
  calls = 100,
  workers = 3,
  faults = 10,
  sessions = 0,
}: WorldOptions): Promise<Story> {
  const dice = createDice(seed);
  const scheduler = createScheduler();
  const history = createHistory(scheduler);
  const disk = createDisk(scheduler, dice.fork('disk'), history);
  let calm = false;
  const isCalm = (): boolean => calm;
  const died = (process: Process): void => {
    network.died(process);
    callers.engineDied(process);
    clients.engineDied(process);
  };
  const plant = createPlant({
    scheduler,
    dice: dice.fork('plant'),
    history,
    disk,
    died,
    calm: isCalm,
    talks: sessions > 0,
  });
  const listening = () => (plant.current?.listens ? plant.current : undefined);
  const network = createNetwork(scheduler, dice.fork('network'), history, () => {
    const engine = listening();
    return (
      engine && {
        process: engine.process,
        serve: (transport) => engine.streams.serve({ caller: WORKER }, transport),
      }
    );
  });
  const fleet = createFleet({
    scheduler,
    dice: dice.fork('fleet'),
    history,
    network,
    died,
    calm: isCalm,
    decides: sessions > 0,
    slots: workers,
  });
  const callers = createCallers({ scheduler, dice: dice.fork('callers'), history, engine: listening });
  const strike = createStrikes({
    scheduler,
    dice: dice.fork('strikes'),
    history,
    disk,
    network,
    plant,
    fleet,
  });
  const intents = planWorkload(dice.fork('workload'), { calls, until: CALLS_UNTIL_MS });
  const plannedFaults = planFaults(dice.fork('faults'), faults, FAULTS_UNTIL_MS, sessions > 0);

  const clients = createClients({ scheduler, dice: dice.fork('clients'), history, engine: listening });
  const talks = planTalks(dice.fork('talks'), { sessions, until: CALLS_UNTIL_MS });

  armFaults(scheduler, history, plannedFaults, strike);
  for (const intent of intents) callers.add(intent);
  for (const talk of talks) clients.add(talk);
  plant.start();
  fleet.start();
  let crash: unknown;
  let probes: readonly Probe[] = [];
  let calmAt = 0;
  try {
    await scheduler.run(FAULTS_UNTIL_MS + MOMENT_PATIENCE_MS);
    calm = true;
    calmAt = scheduler.now;
    disk.heal();
    scheduler.thawAll();
    fleet.letGo();
    await scheduler.run(QUIET_BY_MS, () => callers.open.size === 0 && clients.open.size === 0);
    // Frozen processes thaw, silent streams are noticed, handlers that went on come to their end.
    await scheduler.run(scheduler.now + 150_000);
    probes = await runProbes({ scheduler, fleet, engine: listening });
  } catch (error) {
    crash = error;
  }
  return {
    seed,
    facts: history.facts,
    logs: [...disk.logs().values()],
    intents,
    talks,
    plannedFaults,
    calmAt,
    setBack: plant.setBack,
    unanswered: [...callers.open, ...clients.open],
    probes,
    crash,
  };
}
