import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import { FAILURE_CODES } from '../core/failure.ts';
import { unreachable } from '../core/unreachable.ts';
import type { ActivityEnd, AttemptActivity, CallActivity, ModelActivity, Moment } from './activity.ts';
import * as names from './conventions.ts';
import type { ActivitySink } from './recorder.ts';
import { PROVIDERS, repairsOf } from './span-of.ts';

/**
 * Upper bounds in seconds: from what a local tool takes to what an agent's turn may. The conventions' own, from 10 ms
 * to 82 s in powers of two, are among them.
 */
export const DURATION_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96,
  81.92, 300, 900, 3_600,
] as const;

/** Upper bounds in seconds for a commit: an fsync takes from a tenth of a millisecond to a slow disk's second. */
export const APPEND_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5,
] as const;

/**
 * Measures what ends (8.6). Attributes come from bounded sets: names that somebody declared, codes that the engine
 * knows; anything else is `_OTHER`. No ids.
 */
export function createMetrics(meter: Meter): ActivitySink {
  const histogram = (name: string, description: string): Histogram =>
    meter.createHistogram(name, {
      unit: 's',
      description,
      advice: { explicitBucketBoundaries: [...DURATION_BUCKETS] },
    });
  const toolDuration = histogram(names.METRIC.toolDuration, 'From the request for a tool call to its end.');
  const agentDuration = histogram(names.METRIC.agentDuration, 'From the start of a turn to its end.');
  const modelDuration = histogram(
    names.METRIC.modelDuration,
    'From the request for a model call to its end.',
  );
  const queueDuration = histogram(names.METRIC.queueDuration, 'How long a tool call waited for a worker.');
  const attemptDuration = histogram(
    names.METRIC.attemptDuration,
    'From the first dispatch of an attempt to its end.',
  );
  const retries = meter.createCounter(names.METRIC.toolRetries, {
    unit: '{attempt}',
    description: 'Attempts of tool calls that failed and were followed by another.',
  });
  const repaired = meter.createCounter(names.METRIC.argumentsRepaired, {
    unit: '{step}',
    description: 'Steps of the repair ladder that made arguments valid.',
  });
  const refused = meter.createCounter(names.METRIC.requestsRefused, {
    unit: '{request}',
    description: 'Requests for tool calls that were refused.',
  });

  const call = (activity: CallActivity, seconds: number): void => {
    const tool = toolOf(activity);
    toolDuration.record(seconds, { ...tool, ...endOf(activity.end), ...outcomeOf(activity.end) });
    queueDuration.record(activity.queuedFor / 1_000, tool);
    for (const moment of activity.moments) {
      if (moment.name === 'attempt_failed') retries.add(1, { ...tool, [names.ERROR_TYPE]: codeOf(moment) });
    }
    for (const step of repairsOf(activity)) repaired.add(1, { ...tool, [names.REPAIR_STEP]: step });
  };

  return {
    wants: () => true,
    ended(activity) {
      if (activity.endedAt === undefined) return;
      const seconds = Math.max(activity.endedAt - activity.startedAt, 0) / 1_000;
      switch (activity.kind) {
        case 'call':
          call(activity, seconds);
          return;
        case 'attempt':
          attemptDuration.record(seconds, { ...toolOf(activity), ...endOf(activity.end) });
          return;
        case 'turn':
          agentDuration.record(seconds, {
            [names.OPERATION_NAME]: 'invoke_agent',
            [names.AGENT_NAME]: activity.agentId,
            ...endOf(activity.end),
          });
          return;
        case 'model':
          modelDuration.record(seconds, { ...modelOf(activity), ...endOf(activity.end) });
          return;
        case 'refusal':
          refused.add(
            1,
            activity.end?.kind === 'failed' ? { [names.REFUSAL_REASON]: activity.end.code } : {},
          );
          return;
        case 'iteration':
          return;
        default:
          unreachable(activity);
      }
    },
  };
}

function toolOf({ toolName, isDeclared }: CallActivity | AttemptActivity): Attributes {
  return { [names.TOOL_NAME]: isDeclared ? toolName : names.OTHER };
}

function modelOf({ provider, model }: ModelActivity): Attributes {
  return {
    [names.OPERATION_NAME]: 'chat',
    [names.PROVIDER_NAME]: PROVIDERS[provider] ?? provider,
    [names.REQUEST_MODEL]: model,
  };
}

function outcomeOf(end: ActivityEnd | undefined): Attributes {
  return end === undefined ? {} : { [names.TOOL_OUTCOME]: end.kind };
}

function endOf(end: ActivityEnd | undefined): Attributes {
  return end?.kind === 'failed' ? { [names.ERROR_TYPE]: boundedCode(end.code) } : {};
}

function codeOf({ facts }: Moment): string {
  return boundedCode(String(facts['code']));
}

/** Tools may have codes of their own (4.8). */
function boundedCode(code: string): string {
  return KNOWN_CODES.has(code) ? code : names.OTHER;
}

const KNOWN_CODES: ReadonlySet<string> = new Set(FAILURE_CODES);
