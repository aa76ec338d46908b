/**
 * What a start costs, and what a stored call takes: `node bench/recovery.ts [--events N] [--unfinished N] [directory]`.
 *
 * Builds a journal of N events (ten million unless said otherwise) in calls that ended, then N more calls that have
 * not (100,000), and measures with and without the one and the other: opening the journal, and taking up what is
 * unfinished with a whole engine. Both have to follow what is unfinished, not what is stored. Ten million events
 * take some 3 GB of disk and a few minutes.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { buildEngine } from '../src/engine/engine.ts';
import type { Journal } from '../src/engine/ports.ts';
import { createMemoryBlobs } from '../src/journal/memory-blobs.ts';
import { openSqliteJournal } from '../src/journal/sqlite.ts';
import { createSchemas } from '../src/schema/schemas.ts';
import { systemClock, systemRandom } from '../src/system.ts';
import { createRegistry } from '../src/workers/registry.ts';
import { createResumeTokens } from '../src/workers/resume-token.ts';
import { computedBytes, EVENTS_PER_CALL, storedCall } from './stored-calls.ts';

const { values, positionals } = parseArgs({
  options: {
    events: { type: 'string', default: '10000000' },
    unfinished: { type: 'string', default: '100000' },
  },
  allowPositionals: true,
});
const CALLS_PER_APPEND = 1_000;
const observer = { report: () => undefined };

async function store(journal: Journal, prefix: string, calls: number, ended: boolean): Promise<void> {
  for (let stored = 0; stored < calls; stored += CALLS_PER_APPEND) {
    const count = Math.min(CALLS_PER_APPEND, calls - stored);
    await journal.append(
      // Ids as random as real ones are: the index over them is as scattered.
      Array.from({ length: count }, (_, index) =>
        storedCall(`${random.token()}${prefix}${stored + index}`, ended),
      ),
    );
  }
}

interface Row {
  readonly journal: string;
  readonly 'size MiB': number;
  readonly 'opening ms': number;
  readonly 'recovery ms': number;
  /** Of both threads: the machine may be busy with something else. */
  readonly 'recovery CPU ms': number;
  readonly 'heap MiB': number;
}

const random = systemRandom();
const directory = mkdtempSync(join(positionals[0] ?? tmpdir(), 'spindle-recovery-'));

async function measure(path: string, title: string): Promise<Row> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const startedAt = performance.now();
  const journal = await openSqliteJournal({ path });
  const openedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  const clock = systemClock();
  const schemas = createSchemas();
  const resumeTokens = createResumeTokens(new Uint8Array(32));
  const workers = createRegistry({ clock, random, observer, schemas, resumeTokens, soon: setImmediate });
  const engine = buildEngine({
    journal,
    blobs: createMemoryBlobs(),
    clock,
    random,
    workers,
    schemas,
    observer,
    failed: (error) => {
      throw error;
    },
  });
  await engine.recover();
  const recoveredAt = performance.now();
  const cpu = process.cpuUsage(cpuBefore);
  const heap = process.memoryUsage().heapUsed - before;
  await journal.close();
  return {
    journal: title,
    'size MiB': Math.round(statSync(path).size / 2 ** 20),
    'opening ms': Math.round(openedAt - startedAt),
    'recovery ms': Math.round(recoveredAt - openedAt),
    'recovery CPU ms': Math.round((cpu.user + cpu.system) / 1_000),
    'heap MiB': Math.round(heap / 2 ** 20),
  };
}

try {
  const events = Number(values.events);
  const unfinished = Number(values.unfinished);
  const rows: Row[] = [];
  const small = join(directory, 'small.db');
  const large = join(directory, 'large.db');
  for (const [path, stored] of [
    [small, 0],
    [large, Math.ceil(events / EVENTS_PER_CALL)],
  ] as const) {
    const title = `${(stored * EVENTS_PER_CALL).toLocaleString('en')} events stored`;
    const journal = await openSqliteJournal({ path });
    await store(journal, 'e', stored, true);
    await journal.close();
    rows.push(await measure(path, `${title}, nothing unfinished`));
    if (stored > 0) {
      const measured = Math.round(statSync(path).size / stored);
      const computed = Math.round(computedBytes(storedCall(`${random.token()}e${stored}`, true)));
      process.stderr.write(
        `a call of ${EVENTS_PER_CALL} events takes ${measured} bytes; computed: ${computed}\n`,
      );
    }
    const again = await openSqliteJournal({ path });
    await store(again, 'u', unfinished, false);
    await again.close();
    rows.push(await measure(path, `${title}, ${unfinished.toLocaleString('en')} calls unfinished`));
  }
  console.table(rows);
} finally {
  rmSync(directory, { recursive: true });
}
