/**
 * What pruning costs those who append meanwhile: `node bench/retention.ts [directory]`. The same load runs with
 * nothing to prune and while old calls are pruned at the pace of the engine, twice in turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_PRUNED_SESSIONS, PRUNE_REST_FACTOR } from '../src/core/limits.ts';
import type { Journal } from '../src/engine/ports.ts';
import { openSqliteJournal } from '../src/journal/sqlite.ts';
import { systemRandom } from '../src/system.ts';
import { storedCall } from './stored-calls.ts';

const RUN_MS = 5_000;
const OLD_CALLS = 100_000;
const CALLS_PER_APPEND = 1_000;
/** Callers at once, each with a pause between its calls: some are always on their way, and the disk is not full. */
const CALLERS = 64;
const PAUSE_MS = 20;

const random = systemRandom();

async function load(journal: Journal): Promise<number[]> {
  const latencies: number[] = [];
  const end = performance.now() + RUN_MS;
  const call = async (): Promise<void> => {
    while (performance.now() < end) {
      const start = performance.now();
      await journal.append([storedCall(random.token(), false)]);
      latencies.push(performance.now() - start);
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return latencies.sort((left, right) => left - right);
}

/** As engine/retention.ts does, until it is told to stop. */
async function pruneUntil(journal: Journal, stopped: () => boolean): Promise<number> {
  let sessions = 0;
  while (!stopped()) {
    const start = performance.now();
    const { removed } = await journal.prune({
      endedBefore: Number.MAX_SAFE_INTEGER,
      limit: MAX_PRUNED_SESSIONS,
    });
    sessions += removed.length;
    await sleep((performance.now() - start) * PRUNE_REST_FACTOR + 1);
  }
  return sessions;
}

const directory = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'spindle-retention-'));
try {
  const journal = await openSqliteJournal({ path: join(directory, 'journal.db') });
  for (let stored = 0; stored < OLD_CALLS; stored += CALLS_PER_APPEND) {
    await journal.append(Array.from({ length: CALLS_PER_APPEND }, () => storedCall(random.token(), true)));
  }
  const rows: Record<string, string | number>[] = [];
  for (const pruning of [false, true, false, true]) {
    let done = false;
    const pruned = pruning ? pruneUntil(journal, () => done) : Promise.resolve(0);
    const latencies = await load(journal);
    done = true;
    const at = (share: number): number =>
      Math.round((latencies[Math.floor(share * (latencies.length - 1))] ?? 0) * 100) / 100;
    rows.push({
      meanwhile: pruning ? 'pruning' : 'nothing',
      'appends/s': Math.round(latencies.length / (RUN_MS / 1_000)),
      'p50 ms': at(0.5),
      'p99 ms': at(0.99),
      'max ms': at(1),
      'pruned calls/s': Math.round((await pruned) / (RUN_MS / 1_000)),
    });
  }
  console.table(rows);
  await journal.close();
} finally {
  rmSync(directory, { recursive: true });
}
