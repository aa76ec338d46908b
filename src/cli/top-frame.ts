import { quantile, readSamples, type Sample, sumOf } from './metrics-text.ts';

/** What an engine did between two looks, and what stands. Lengths of time are in milliseconds. */
export interface TopFrame {
  readonly callsPerSecond: number;
  readonly inFlight: number;
  readonly queued: number;
  readonly workers: number;
  readonly slots: { readonly total: number; readonly used: number; readonly stuck: number };
  readonly commitP99Ms: number | undefined;
  readonly tools: readonly TopTool[];
}

export interface TopTool {
  readonly name: string;
  /** Workers that serve it; undefined for one that nobody serves now. */
  readonly workers: number | undefined;
  readonly callsPerSecond: number;
  /** Of those that ended, from 0 to 1; undefined where none did. */
  readonly failed: number | undefined;
  readonly retriesPerSecond: number;
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly queueP99Ms: number | undefined;
  readonly running: number;
  readonly queued: number;
}

const DURATION = 'gen_ai_execute_tool_duration';
const TOOL = 'gen_ai_tool_name';

/** One look: the page of an engine's metrics, and when it was taken, in milliseconds. */
export interface Look {
  readonly page: string;
  readonly at: number;
}

export function frameOf(before: Look, after: Look, served: ReadonlyMap<string, number>): TopFrame {
  const pages = [readSamples(before.page), readSamples(after.page)] as const;
  const [old, now] = pages;
  const seconds = Math.max((after.at - before.at) / 1_000, Number.EPSILON);
  const grown = (name: string, labels: Sample['labels'] = {}): number =>
    Math.max(sumOf(now, name, labels) - sumOf(old, name, labels), 0);
  const millis = (name: string, labels: Sample['labels'], share: number): number | undefined => {
    const value = quantile(pages, name, labels, share);
    return value === undefined ? undefined : value * 1_000;
  };
  const names = new Set(served.keys());
  for (const { name, labels } of now) {
    if (name === `${DURATION}_count` || name === 'spindle_calls_in_flight') names.add(labels[TOOL] ?? '');
  }
  const tools = [...names].map((name): TopTool => {
    const tool = { [TOOL]: name };
    const ended = grown(`${DURATION}_count`, tool);
    const failed = grown(`${DURATION}_count`, { ...tool, spindle_tool_outcome: 'failed' });
    return {
      name,
      workers: served.get(name),
      callsPerSecond: ended / seconds,
      failed: ended === 0 ? undefined : failed / ended,
      retriesPerSecond: grown('spindle_tool_retries_total', tool) / seconds,
      p50Ms: millis(DURATION, tool, 0.5),
      p99Ms: millis(DURATION, tool, 0.99),
      queueP99Ms: millis('spindle_tool_queue_duration', tool, 0.99),
      running: sumOf(now, 'spindle_calls_in_flight', { ...tool, spindle_call_state: 'running' }),
      queued: sumOf(now, 'spindle_queue_depth', tool),
    };
  });
  const busiest = (a: TopTool, b: TopTool): number =>
    b.callsPerSecond - a.callsPerSecond ||
    b.running + b.queued - a.running - a.queued ||
    (a.name < b.name ? -1 : 1);
  return {
    callsPerSecond: grown(`${DURATION}_count`) / seconds,
    inFlight: sumOf(now, 'spindle_calls_in_flight'),
    queued: sumOf(now, 'spindle_queue_depth'),
    workers: sumOf(now, 'spindle_workers_connected'),
    slots: {
      total: sumOf(now, 'spindle_slots_total'),
      used: sumOf(now, 'spindle_slots_used'),
      stuck: sumOf(now, 'spindle_slots_stuck'),
    },
    commitP99Ms: millis('spindle_journal_append_duration', {}, 0.99),
    tools: tools.toSorted(busiest),
  };
}
