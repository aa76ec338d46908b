/**
 * A long run under connections that are cut all the time: `node test/e2e/soak.ts --calls 1000000`. Prints what
 * engine, worker and caller hold as calls go by, each time when nothing is in flight and garbage was collected, and
 * how that grows for each 100,000 calls. Ends with 1 where it grows.
 */
import { parseArgs } from 'node:util';
import { openCuttingProxy } from './chaos/cutting-proxy.ts';
import { engineHome, launchEngine, listening } from './chaos/engine-home.ts';
import { openProcesses, type RunningProgram } from './chaos/processes.ts';
import type { Report } from './chaos/programs/reports.ts';
import { seededDraw } from './chaos/programs/seeded-draw.ts';
import type { SoakCallerProgram } from './chaos/programs/soak-caller.ts';
import type { SoakWorkerProgram } from './chaos/programs/soak-worker.ts';
import { slopeOf } from './chaos/slope.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '1000000' },
    samples: { type: 'string', default: '25' },
    seed: { type: 'string', default: '1' },
    /** The mean time between two cuts, in milliseconds. */
    'cut-every': { type: 'string', default: '400' },
  },
});
const calls = Number(values.calls);
const samples = Number(values.samples);
const cutEveryMs = Number(values['cut-every']);
const draw = seededDraw(Number(values.seed));

type Measured = Extract<Report, { kind: 'measured' }>;
type Quantity = 'heapMiB' | 'rssMiB' | 'resources' | 'listeners';

const PER = 100_000;
/** What V8 and malloc keep of what was freed, and connections that close just now: whatever the number of calls. */
const KEPT_MIB = 200;
const CLOSING = 5;

/** What a process may grow by for each 100,000 calls: the noise of a measurement, not a leak. */
const BOUNDS: Readonly<Record<Quantity, number>> = {
  heapMiB: 0.5,
  rssMiB: (KEPT_MIB * PER) / calls,
  resources: (CLOSING * PER) / calls,
  listeners: 0.1,
};
const QUANTITIES: Readonly<Record<Quantity, (measured: Measured) => number>> = {
  heapMiB: ({ heapBytes }) => heapBytes / 2 ** 20,
  rssMiB: ({ rssBytes }) => rssBytes / 2 ** 20,
  resources: ({ resources }) => resources,
  listeners: ({ listeners }) => listeners,
};
/** Until then caches fill and functions are compiled. */
const WARM_UP_PART = 0.25;

await using processes = await openProcesses();
const home = await engineHome(processes, { resumeGraceMs: 30_000, stopGraceMs: 10_000 });
const engine = launchEngine(processes, home, { exposeGc: true });
await listening(engine);
await using proxy = await openCuttingProxy(home.address);
const workerOptions: SoakWorkerProgram = { address: proxy.address, maxInFlight: 512 };
const callerOptions: SoakCallerProgram = { address: proxy.address, inFlight: 500, callsPerClient: 5_000 };
const worker = processes.start('soak-worker', workerOptions, { exposeGc: true });
const caller = processes.start('soak-caller', callerOptions, { exposeGc: true });
await worker.next('connected');

const measured: Readonly<
  Record<string, { readonly program: RunningProgram; readonly points: [number, Measured][] }>
> = {
  engine: { program: engine, points: [] },
  worker: { program: worker, points: [] },
  caller: { program: caller, points: [] },
};

let cutter: NodeJS.Timeout | undefined;
const cutLater = (): void => {
  cutter = setTimeout(
    () => {
      proxy.cut(draw());
      cutLater();
    },
    2 * cutEveryMs * draw(),
  );
};

const rows: Record<string, string | number>[] = [];
for (let sample = 1; sample <= samples; sample++) {
  const from = performance.now();
  cutLater();
  const upTo = Math.round((calls * sample) / samples);
  caller.tell({ kind: 'allow', calls: upTo });
  await caller.next('reached');
  clearTimeout(cutter);
  const seconds = (performance.now() - from) / 1_000;
  const row: Record<string, string | number> = {
    calls: upTo,
    'calls/s': Math.round(calls / samples / seconds),
    cuts: proxy.cuts,
  };
  for (const [name, { program, points }] of Object.entries(measured)) {
    program.tell({ kind: 'measure' });
    const now = await program.next('measured');
    points.push([upTo, now]);
    row[`${name} heap/RSS MiB`] =
      `${QUANTITIES.heapMiB(now).toFixed(1)}/${QUANTITIES.rssMiB(now).toFixed(0)}`;
    row[`${name} handles/listeners`] = `${now.resources}/${now.listeners}`;
  }
  rows.push(row);
  console.log(JSON.stringify(row));
}
console.table(rows);

let grows = false;
const slopes = Object.entries(measured).map(([name, { points }]) => {
  const warm = points.filter(([at]) => at > WARM_UP_PART * calls);
  const slope = (quantity: Quantity): string => {
    const value = slopeOf(warm.map(([at, now]) => [at / PER, QUANTITIES[quantity](now)]));
    const tooMuch = value > BOUNDS[quantity];
    grows ||= tooMuch;
    return `${value.toFixed(3)}${tooMuch ? ` > ${BOUNDS[quantity].toFixed(1)}` : ''}`;
  };
  return {
    process: name,
    'heap MiB': slope('heapMiB'),
    'RSS MiB': slope('rssMiB'),
    handles: slope('resources'),
    listeners: slope('listeners'),
  };
});
console.log('growth for each 100,000 calls');
console.table(slopes);
process.exitCode = grows ? 1 : 0;
