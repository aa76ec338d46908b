import type { BenchAgent } from './model.ts';
import { type Measured, startProcess } from './process.ts';
import type { LoadResult } from './role.ts';
import { median } from './statistics.ts';
import { startTrio, type Trio } from './throughput.ts';
import { ECHO } from './tools.ts';

/** Medians over all rounds. Turns of conversations, beside direct calls of the same engine in the same round. */
export interface Turns {
  readonly journal: string;
  readonly inFlight: number;
  /** Tool calls of each turn; it makes two model calls. */
  readonly callsPerTurn: number;
  readonly turnsPerSecond: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU time of the engine for a turn, in milliseconds. */
  readonly cpuPerTurn: number;
  /** With as many calls in flight as there were turns. */
  readonly directCallsPerSecond: number;
  /** CPU time of the engine for a direct call, in milliseconds. */
  readonly cpuPerCall: number;
}

/** What conversations take of the engine's memory, with SQLite. */
export interface SessionMemory {
  readonly sessions: number;
  /** Bytes for each session that has had its turn and is not in use. */
  readonly bytesPerIdleSession: number;
  readonly active: number;
  /** Bytes for each session whose turn waits for a tool. */
  readonly bytesPerActiveSession: number;
}

export interface TurnsOptions {
  readonly inFlight: readonly number[];
  readonly rounds: number;
  readonly roundMilliseconds: number;
  readonly warmUpTurns: number;
  readonly directory?: string | undefined;
}

interface Round extends LoadResult {
  /** CPU seconds of the engine. */
  readonly cpuSeconds: number;
}

const AGENTS: readonly { readonly agent: BenchAgent; readonly calls: number }[] = [
  { agent: 'one', calls: 1 },
  { agent: 'eight', calls: 8 },
];

/** Alternates between direct calls and turns, so that whatever else the machine does, it does to both. */
export async function measureTurns(options: TurnsOptions): Promise<Turns[]> {
  const { inFlight, rounds, roundMilliseconds, warmUpTurns, directory } = options;
  const rows: Turns[] = [];
  for (const journal of ['memory', 'sqlite'] as const) {
    const trio = await startTrio(journal, directory);
    const turns = await startProcess('turn-caller', trio.middle.address);
    const run = async (caller: Measured, tool: string, count: number): Promise<Round> => {
      const before = await trio.middle.usage();
      const result = await caller.load({
        tool,
        inFlight: count,
        until: { milliseconds: roundMilliseconds },
      });
      const after = await trio.middle.usage();
      return { ...result, cpuSeconds: after.cpuSeconds - before.cpuSeconds };
    };
    try {
      await warmUp(trio, turns, warmUpTurns);
      for (const count of inFlight) {
        const direct: Round[] = [];
        const measured = AGENTS.map(({ calls, agent }) => ({ calls, agent, rounds: [] as Round[] }));
        for (let round = 0; round < rounds; round++) {
          direct.push(await run(trio.caller, ECHO, count));
          for (const { agent, rounds: results } of measured) results.push(await run(turns, agent, count));
        }
        for (const { calls, rounds: results } of measured)
          rows.push({
            journal,
            inFlight: count,
            callsPerTurn: calls,
            turnsPerSecond: median(results.map(rateOf)),
            p50: median(results.map(({ p50 }) => p50)),
            p99: median(results.map(({ p99 }) => p99)),
            cpuPerTurn: median(results.map(costOf)),
            directCallsPerSecond: median(direct.map(rateOf)),
            cpuPerCall: median(direct.map(costOf)),
          });
      }
    } finally {
      await turns.stop();
      await trio.stop();
    }
  }
  return rows;
}

async function warmUp({ caller }: Trio, turns: Measured, count: number): Promise<void> {
  await caller.load({ tool: ECHO, inFlight: 256, until: { calls: count } });
  for (const { agent, calls } of AGENTS)
    await turns.load({ tool: agent, inFlight: 64, until: { calls: Math.ceil(count / calls) } });
}

/** @param sessions in all, each with one turn; ACTIVE_SESSIONS more have a turn that does not end */
export async function measureSessions(sessions: number, directory?: string): Promise<SessionMemory> {
  const trio = await startTrio('sqlite', directory);
  const turns = await startProcess('turn-caller', trio.middle.address);
  const open = async (agent: BenchAgent, count: number): Promise<number> => {
    await turns.open(agent, count);
    while ((await turns.count()) < count) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    return (await trio.middle.usage({ collect: true })).liveBytes;
  };
  try {
    // Caches fill, and compiled code comes, before the first sample.
    const before = await open('talker', Math.ceil(sessions / 10));
    const idle = await open('talker', sessions);
    const active = await open('holder', ACTIVE_SESSIONS);
    return {
      sessions,
      bytesPerIdleSession: (idle - before) / sessions,
      active: ACTIVE_SESSIONS,
      bytesPerActiveSession: (active - idle) / ACTIVE_SESSIONS,
    };
  } finally {
    await turns.stop();
    await trio.stop();
  }
}

const ACTIVE_SESSIONS = 100;
const POLL_MS = 100;

function rateOf({ calls, seconds }: LoadResult): number {
  return calls / seconds;
}

function costOf({ calls, cpuSeconds }: Round): number {
  return (cpuSeconds / calls) * 1_000;
}
