import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import {
  addConnectionOptions,
  type ConnectionFlags,
  configured,
  configuredConnection,
  connectOptionsOf,
  withClient,
} from './connection.ts';
import { type Introduction, readMetrics } from './metrics-page.ts';
import { countOption, durationOption } from './option-value.ts';
import { lengthOfTime, oneLine, styled, table } from './style.ts';
import { frameOf, type Look, type TopFrame, type TopTool } from './top-frame.ts';

interface TopFlags extends ConnectionFlags {
  readonly metrics?: string;
  readonly interval: number;
  readonly count?: number;
}

const HELP = `
It reads the metrics of an engine that was started with --metrics, and asks it
which tools are served. Where callers have to prove who they are, it needs the
token of an operator of the tenant that the engine's metrics_tenant names. On a terminal it goes on until Ctrl-C; elsewhere it
prints one picture, or as many as --count says.

Examples:
  spindle serve --metrics 127.0.0.1:9464
  spindle top
  spindle top --json --count 10 --interval 1s     one JSON object a line
`;

const DEFAULT_METRICS = '127.0.0.1:9464';

export function defineTop(command: Command): void {
  addConnectionOptions(command)
    .description('Shows tools, rates, errors, latencies, the queue and the workers of an engine, live.')
    .option('--metrics <host:port>', `the engine's metrics (default: SPINDLE_METRICS, or ${DEFAULT_METRICS})`)
    .option('--interval <duration>', 'how long each picture looks back', durationOption, 2_000)
    .option('--count <n>', 'how many pictures', countOption)
    .addHelpText('after', HELP)
    .action(top);
}

async function top(flags: TopFlags): Promise<void> {
  const { config: file, metrics: flag, interval, json = false } = flags;
  // What there is to warn of is told when the client is made.
  const { metrics = DEFAULT_METRICS } = configured({ file, flags: { metrics: flag } }, () => undefined);
  const live = process.stdout.isTTY && !json;
  const count = flags.count ?? (live ? Number.POSITIVE_INFINITY : 1);
  const introduction = connectOptionsOf(configuredConnection(flags));
  await withClient(flags, async (client) => {
    let before = await look(metrics, introduction);
    for (let shown = 0; shown < count; shown++) {
      await pause(interval);
      const after = await look(metrics, introduction);
      const served = new Map((await client.tools()).map(({ tool, workers }) => [tool?.name ?? '', workers]));
      const frame = frameOf(before, after, served);
      before = after;
      const text = json ? JSON.stringify(frame) : drawn(frame, process.stdout);
      // The picture before it is drawn over, from the top left corner on.
      process.stdout.write(live ? `\u001b[H\u001b[2J${text}\n` : `${text}\n`);
    }
  });
}

async function look(address: string, introduction: Introduction): Promise<Look> {
  return { page: await readMetrics(address, introduction), at: performance.now() };
}

function drawn(frame: TopFrame, stream: NodeJS.WriteStream): string {
  const { slots } = frame;
  const stuck = slots.stuck > 0 ? styled(stream, 'red', `  ${slots.stuck} stuck`) : '';
  const head =
    `${styled(stream, 'bold', `${rate(frame.callsPerSecond)} calls/s`)}  ${frame.inFlight} in flight  ` +
    `${frame.queued} queued  ${frame.workers} workers  ${slots.used} of ${slots.total} slots${stuck}  ` +
    `commits ${time(frame.commitP99Ms)} (p99)`;
  if (frame.tools.length === 0) return `${head}\n${styled(stream, 'dim', 'No tools.')}`;
  const columns = [
    'TOOL',
    'WORKERS',
    'CALLS/S',
    'FAILED',
    'RETRIES/S',
    'P50',
    'P99',
    'QUEUE P99',
    'RUNNING',
    'QUEUED',
  ];
  return `${head}\n\n${table([columns, ...frame.tools.map(row)], stream)}`;
}

function row(tool: TopTool): readonly string[] {
  return [
    oneLine(tool.name),
    tool.workers === undefined ? '–' : String(tool.workers),
    rate(tool.callsPerSecond),
    tool.failed === undefined ? '–' : `${(tool.failed * 100).toFixed(1)} %`,
    rate(tool.retriesPerSecond),
    time(tool.p50Ms),
    time(tool.p99Ms),
    time(tool.queueP99Ms),
    String(tool.running),
    String(tool.queued),
  ];
}

function rate(perSecond: number): string {
  return perSecond >= 100 || perSecond === 0 ? perSecond.toFixed(0) : perSecond.toFixed(1);
}

function time(millis: number | undefined): string {
  if (millis === undefined) return '–';
  return millis < 10 ? `${millis.toFixed(1)} ms` : lengthOfTime(millis);
}
