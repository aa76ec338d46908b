/**
 * What telemetry costs: calls a second with telemetry off, with spans sampled out, and with every span recorded and
 * exported, as ratios of one run (docs/performance.md):
 *
 *     node bench/telemetry.ts [--quick] [--directory DIR]
 *
 * The collector is a process of its own on the same machine, which takes what comes and keeps nothing; what it costs
 * is in the numbers.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Measured, startProcess } from './process.ts';
import { median } from './statistics.ts';
import { ECHO } from './tools.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, directory: { type: 'string' } },
});
const ROUNDS = values.quick ? 3 : 7;
const ROUND_MS = values.quick ? 500 : 2_000;
const WARM_UP_CALLS = values.quick ? 10_000 : 50_000;

interface Arrangement {
  readonly name: string;
  readonly engine: Measured;
  readonly worker: Measured;
  readonly caller: Measured;
}

interface Round {
  /** Calls a second. */
  readonly rate: number;
  /** Seconds of the engine's process for one call, all its threads together. */
  readonly cpu: number;
  /** Of the spans of the round's calls, those that had arrived when it was over. */
  readonly share: number;
}

const collector = await startProcess('collector');
const exporting = [
  `OTEL_EXPORTER_OTLP_ENDPOINT=http://${collector.address}`,
  'OTEL_EXPORTER_OTLP_PROTOCOL=grpc',
];
const spansAlone = [...exporting, 'OTEL_METRICS_EXPORTER=none'];
const VARIANTS: readonly (readonly [name: string, variables: readonly string[]])[] = [
  ['off', []],
  ['sampled out', [...spansAlone, 'OTEL_TRACES_SAMPLER=always_off']],
  ['every span', spansAlone],
  [
    'every span, and metrics',
    [...spansAlone, 'OTEL_METRICS_EXPORTER=prometheus', 'OTEL_EXPORTER_PROMETHEUS_PORT=0'],
  ],
];

console.log('| journal, in flight | telemetry | calls/s | ratio | µs CPU a call | ratio | arrived |');
console.log('| --- | --- | ---: | ---: | ---: | ---: | ---: |');
for (const journal of ['memory', 'sqlite'] as const) {
  const place = mkdtempSync(join(values.directory ?? tmpdir(), 'spindle-bench-'));
  const arrangements: Arrangement[] = [];
  for (const [index, [name, variables]] of VARIANTS.entries()) {
    const url = journal === 'memory' ? 'memory:' : `sqlite:${join(place, `${index}.db`)}`;
    const engine = await startProcess('engine', url, ...variables);
    const worker = await startProcess('worker', engine.address);
    const caller = await startProcess('caller', engine.address);
    arrangements.push({ name, engine, worker, caller });
  }
  for (const { caller } of arrangements)
    await caller.load({ tool: ECHO, inFlight: 64, until: { calls: WARM_UP_CALLS } });
  for (const inFlight of [16, 256]) {
    const rounds: Round[][] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const measured = [];
      for (const { caller, engine } of arrangements) {
        const [spans, { cpuSeconds }] = [await collector.count(), await engine.usage()];
        const { calls, seconds } = await caller.load({
          tool: ECHO,
          inFlight,
          until: { milliseconds: ROUND_MS },
        });
        const cpu = ((await engine.usage()).cpuSeconds - cpuSeconds) / calls;
        measured.push({
          rate: calls / seconds,
          cpu,
          share: ((await collector.count()) - spans) / (2 * calls),
        });
      }
      rounds.push(measured);
    }
    for (const [index, { name }] of arrangements.entries()) {
      const over = (value: (mine: Round, off: Round) => number): number =>
        median(
          rounds.flatMap((round) => {
            const [mine, off] = [round[index], round[0]];
            return mine === undefined || off === undefined ? [] : [value(mine, off)];
          }),
        );
      const cells = [
        `${journal}, ${inFlight}`,
        name,
        over(({ rate }) => rate).toFixed(0),
        over((mine, off) => mine.rate / off.rate).toFixed(2),
        over(({ cpu }) => cpu * 1e6).toFixed(1),
        over((mine, off) => off.cpu / mine.cpu).toFixed(2),
        `${(over(({ share }) => share) * 100).toFixed(0)} %`,
      ];
      console.log(`| ${cells.join(' | ')} |`);
    }
  }
  for (const { caller, worker, engine } of arrangements)
    for (const each of [caller, worker, engine]) await each.stop();
  rmSync(place, { recursive: true });
}
await collector.stop();
