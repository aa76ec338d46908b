import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../../../src/sdk/index.ts';
import { engineHome } from './engine-home.ts';
import { type Evidence, readEffects, readLogs } from './evidence.ts';
import { launchFleet, type WorkerKind } from './fleet.ts';
import { makePlan, type Step } from './plan.ts';
import { openProcesses } from './processes.ts';
import type { CallerProgram } from './programs/caller.ts';
import { recordedEnd } from './programs/ends.ts';
import { seededDraw } from './programs/seeded-draw.ts';
import { AGAIN } from './programs/work.ts';
import { readStory } from './story.ts';

export interface StormOptions {
  /** Of the plan and of the calls. What the processes make of them depends on the machine as well. */
  readonly seed: number;
  readonly calls: number;
  readonly kills: number;
  readonly kinds: readonly WorkerKind[];
}

export interface Storm {
  readonly evidence: Evidence;
  /** What went wrong with the processes and the caller themselves. */
  readonly faults: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

/** A worker that was killed is known as lost after this. Reconnects take less, so workers that live come back. */
const RESUME_GRACE_MS = 5_000;
const STOP_GRACE_MS = 300;
const MAX_IN_FLIGHT = 24;
/** More calls at once than the slots of the killed workers whose grace is not over. */
const CALLS_IN_FLIGHT = 2_000;
const MAX_HOLD_MS = 20;
/** Longer than any clock of a call and any wait between reconnects: when no call ends for so long, none will. */
const STALLED_MS = 90_000;

/** Makes calls while processes are killed, frozen and drained, and gathers what became of them. */
export async function brewStorm(options: StormOptions): Promise<Storm> {
  const { seed, calls, kills, kinds } = options;
  const startedAt = Date.now();
  await using processes = await openProcesses();
  const home = await engineHome(processes, { resumeGraceMs: RESUME_GRACE_MS, stopGraceMs: STOP_GRACE_MS });
  const effectsPath = join(processes.folder, 'effects.jsonl');
  const fleet = launchFleet(processes, { home, kinds, effects: effectsPath, maxInFlight: MAX_IN_FLIGHT });
  await fleet.listening();

  const plan = makePlan({ calls, kills, workers: kinds.length, draw: seededDraw(seed) });
  const seen = new Map<string, string[]>();
  const faults: string[] = [];
  const progress = createProgress();
  const callerOptions: CallerProgram = {
    address: home.address,
    seed: seed + 1,
    prefix: `storm-${seed}`,
    calls,
    inFlight: CALLS_IN_FLIGHT,
    maxHoldMs: MAX_HOLD_MS,
  };
  const caller = processes.start('caller', callerOptions, {
    onReport(report) {
      if (report.kind === 'refused') faults.push(`${report.callId} was refused: ${report.reason}`);
      if (report.kind !== 'end' && report.kind !== 'refused') return;
      const { callId } = report;
      seen.set(callId, [
        ...(seen.get(callId) ?? []),
        report.kind === 'end' ? report.end : `refused ${report.reason}`,
      ]);
      progress.reach(seen.size);
    },
  });
  caller.exited.then(({ code, signal }) => {
    if (seen.size < calls) progress.fail(`the caller ended (${signal ?? code}): ${caller.complaints()}`);
  });

  for (const { inARow, allowed, newEnds, waitMs, deed } of plan) {
    if (!inARow) await fleet.gathered();
    caller.tell({ kind: 'allow', calls: allowed });
    await progress.reached(Math.min(seen.size + newEnds, allowed));
    await pause(waitMs);
    await fleet.perform(deed);
  }
  caller.tell({ kind: 'allow', calls });
  await progress.reached(calls);
  await fleet.listening();
  const { listed, got } = await readThroughEngine(home.address, [...seen.keys()]);
  await fleet.stopWorkers();
  await fleet.stopEngine();

  const evidence: Evidence = {
    asked: Array.from({ length: calls }, (_, index) => `${callerOptions.prefix}-${index + 1}`),
    logs: readLogs(home.journal),
    effects: await readEffects(effectsPath),
    seen,
    listed,
    got,
    workers: fleet.workers,
    engines: fleet.engines,
    resumeGraceMs: RESUME_GRACE_MS,
  };
  const counts = { seed, ...countOf(evidence, plan), seconds: (Date.now() - startedAt) / 1_000 };
  return { evidence, faults: [...faults, ...fleet.faults], counts };
}

async function readThroughEngine(address: string, callIds: readonly string[]) {
  await using client = createClient({ address });
  const listed = new Map<string, string | undefined>();
  for await (const { callId, outcome } of client.list()) listed.set(callId, recordedEnd(outcome));
  const calls = await Promise.all(callIds.map((callId) => client.get(callId)));
  const got = new Map(calls.map(({ callId, outcome }) => [callId, recordedEnd(outcome)]));
  return { listed, got };
}

/** Waits for a number to be reached, and gives up where it does not grow any more. */
function createProgress() {
  let reached = 0;
  let failure: string | undefined;
  let grewAt = Date.now();
  let wake = Promise.withResolvers<void>();
  const notify = (): void => {
    wake.resolve();
    wake = Promise.withResolvers<void>();
  };
  return {
    reach(count: number): void {
      reached = count;
      grewAt = Date.now();
      notify();
    },
    fail(why: string): void {
      failure = why;
      notify();
    },
    async reached(count: number): Promise<void> {
      const watch = setInterval(() => {
        if (Date.now() - grewAt < STALLED_MS) return;
        failure = `no call ended for ${STALLED_MS / 1_000} s, after ${reached}`;
        notify();
      }, 1_000);
      try {
        while (reached < count && failure === undefined) await wake.promise;
      } finally {
        clearInterval(watch);
      }
      if (failure !== undefined) throw new Error(failure);
    },
  };
}

function countOf({ logs, effects, workers, engines }: Evidence, plan: readonly Step[]) {
  const stories = [...logs.values()].map(readStory);
  const count = (deed: Step['deed']['kind'], isEngine: boolean): number =>
    plan.filter(({ deed: { kind, victim } }) => kind === deed && (victim === 'engine') === isEngine).length;
  const reasons = stories.flatMap(({ requeues }) => requeues);
  const requeued = (reason: string): number => reasons.filter((given) => given === reason).length;
  return {
    calls: stories.length,
    'safe to repeat': stories.filter(({ tool }) => tool === AGAIN).length,
    results: stories.filter(({ end }) => end?.outcome.case === 'result').length,
    'outcome unknown': stories.filter(({ end }) => end?.outcome.case === 'error').length,
    executions: effects.length,
    'attempts lost': stories.reduce((sum, { losses }) => sum + losses.length, 0),
    'requeued: never held': requeued('never_held'),
    'requeued: never sent': requeued('never_sent'),
    'requeued: rejected': requeued('rejected'),
    'late answers': stories.reduce((sum, { lateAnswers }) => sum + lateAnswers, 0),
    'engine kills': count('kill', true),
    'worker kills': count('kill', false),
    'engine freezes': count('freeze', true),
    'worker freezes': count('freeze', false),
    'engine drains': count('drain', true),
    'worker drains': count('drain', false),
    'engine lives': engines.length,
    'worker lives': workers.size,
    'worker connects': [...workers.values()].reduce((sum, { connectedAt }) => sum + connectedAt.length, 0),
  };
}
