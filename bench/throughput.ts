import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Measured, startProcess } from './process.ts';
import type { LoadResult } from './role.ts';
import { median } from './statistics.ts';
import { ECHO } from './tools.ts';

/** Three processes: a caller, one in the middle, and a worker. */
export interface Trio {
  readonly name: string;
  readonly caller: Measured;
  readonly middle: Measured;
  readonly worker: Measured;
  stop(): Promise<void>;
}

/** What is measured against the floor. */
export type Kind = 'floor' | 'memory' | 'sqlite' | 'memory, SDK on both sides';

/** @param directory where SQLite keeps its file; a directory on the disk that is to be measured */
export async function startTrio(name: Kind, directory: string = tmpdir()): Promise<Trio> {
  const place = mkdtempSync(join(directory, 'spindle-bench-'));
  const journal = name === 'sqlite' ? `sqlite:${join(place, 'spindle.db')}` : 'memory:';
  const lean = name !== 'memory, SDK on both sides';
  const middle = await startProcess(name === 'floor' ? 'relay' : 'engine', journal);
  const worker = await startProcess(lean ? 'worker' : 'sdk-worker', middle.address);
  const caller = await startProcess(lean ? 'caller' : 'sdk-caller', middle.address);
  return {
    name,
    caller,
    middle,
    worker,
    async stop() {
      for (const measured of [caller, worker, middle]) await measured.stop();
      rmSync(place, { recursive: true });
    },
  };
}

/** CPU seconds for 100,000 calls. */
export interface CpuCost {
  readonly caller: number;
  readonly middle: number;
  readonly worker: number;
}

/** Medians over all rounds. Latencies are in milliseconds, ratios are to the floor of the same round. */
export interface Throughput {
  readonly name: string;
  readonly inFlight: number;
  readonly callsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly rateRatio: number;
  readonly p50Ratio: number;
  readonly p99Ratio: number;
  readonly cpu: CpuCost;
}

export interface ThroughputOptions {
  readonly inFlight: readonly number[];
  readonly rounds: number;
  readonly roundMilliseconds: number;
  /** Calls of each warm-up: enough of them, however slow the machine is at the moment. */
  readonly warmUpCalls: number;
  readonly directory?: string | undefined;
}

interface Round extends LoadResult {
  readonly cpu: CpuCost;
}

/**
 * Alternates between the floor and what is compared with it, so that whatever else the machine does, it does to
 * both; and compares within a round alone.
 */
export async function measureThroughput(options: ThroughputOptions): Promise<Throughput[]> {
  const { inFlight, rounds, roundMilliseconds, warmUpCalls, directory } = options;
  const trios: Trio[] = [];
  try {
    for (const name of ['floor', 'memory', 'sqlite', 'memory, SDK on both sides'] as const) {
      trios.push(await startTrio(name, directory));
    }
    for (const trio of trios) await warmUp(trio, warmUpCalls);
    const rows: Throughput[] = [];
    for (const count of inFlight) {
      const measured: Round[][] = [];
      for (let round = 0; round < rounds; round++) {
        const results: Round[] = [];
        for (const trio of trios) results.push(await runRound(trio, count, roundMilliseconds));
        measured.push(results);
      }
      for (const [index, { name }] of trios.entries()) rows.push(summary(name, count, measured, index));
    }
    return rows;
  } finally {
    for (const trio of trios) await trio.stop();
  }
}

/** Until the compilers of all three processes have seen both a busy and a quiet stream. */
async function warmUp({ caller }: Trio, calls: number): Promise<void> {
  for (const inFlight of [256, 1, 256]) {
    const until = { calls: inFlight === 1 ? calls / 10 : calls };
    await caller.load({ tool: ECHO, inFlight, until });
  }
}

async function runRound(trio: Trio, inFlight: number, milliseconds: number): Promise<Round> {
  const before = await cpuOf(trio);
  const result = await trio.caller.load({ tool: ECHO, inFlight, until: { milliseconds } });
  const after = await cpuOf(trio);
  const cost = (role: keyof CpuCost): number => ((after[role] - before[role]) / result.calls) * 100_000;
  return { ...result, cpu: { caller: cost('caller'), middle: cost('middle'), worker: cost('worker') } };
}

async function cpuOf({ caller, middle, worker }: Trio): Promise<CpuCost> {
  return {
    caller: (await caller.usage()).cpuSeconds,
    middle: (await middle.usage()).cpuSeconds,
    worker: (await worker.usage()).cpuSeconds,
  };
}

/** @param index the trio's place in each round; the floor has the first */
function summary(
  name: string,
  inFlight: number,
  rounds: readonly (readonly Round[])[],
  index: number,
): Throughput {
  const over = (value: (round: Round, floor: Round) => number): number =>
    median(
      rounds.flatMap((results) => {
        const floor = results[0];
        const round = results[index];
        return floor === undefined || round === undefined ? [] : [value(round, floor)];
      }),
    );
  return {
    name,
    inFlight,
    callsPerSecond: over(rateOf),
    p50: over(({ p50 }) => p50),
    p99: over(({ p99 }) => p99),
    rateRatio: over((round, floor) => rateOf(round) / rateOf(floor)),
    p50Ratio: over((round, floor) => round.p50 / floor.p50),
    p99Ratio: over((round, floor) => round.p99 / floor.p99),
    cpu: {
      caller: over(({ cpu }) => cpu.caller),
      middle: over(({ cpu }) => cpu.middle),
      worker: over(({ cpu }) => cpu.worker),
    },
  };
}

function rateOf({ calls, seconds }: LoadResult): number {
  return calls / seconds;
}
