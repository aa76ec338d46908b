import {
  type Attributes,
  type Context,
  type HrTime,
  ROOT_CONTEXT,
  type Sampler,
  SamplingDecision,
  type SpanContext,
  SpanKind,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import type { TraceOrigin } from '../core/activity.ts';
import { MAX_TRACES_AT_HAND } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';
import type { Activity } from './activity.ts';
import type { ContentRecorder } from './content.ts';
import type { ActivitySink } from './recorder.ts';
import { spanIdOf, type TraceIds, traceIdsOf, traceparentOf } from './span-ids.ts';
import { spanEventOf, spanOf } from './span-of.ts';

/** A span that is over, as an exporter takes it. */
export interface FinishedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly context: SpanContext;
  readonly parent: SpanContext | undefined;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly attributes: Attributes;
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Attributes;
    readonly time: HrTime;
  }[];
  /** The status is Error with this text, which may be empty; undefined: it stays Unset (8.4). */
  readonly error: string | undefined;
}

export interface SpansOptions {
  readonly sampler: Sampler;
  /** Takes a span, and neither waits nor throws. */
  readonly export: (span: FinishedSpan) => void;
  /** Undefined where arguments and results are not recorded (8.5). */
  readonly content: ContentRecorder | undefined;
}

export interface Spans extends ActivitySink {
  /** The trace context for whoever does the work of an activity: its span is the parent of theirs (8.2). */
  contextOf(origin: TraceOrigin, activityName: string): Readonly<Record<string, string>>;
}

/** What an origin's trace is, with the verdict of the sampler, which is one for the whole trace. */
interface Trace extends TraceIds {
  readonly isSampled: boolean;
}

/**
 * Makes a span of each activity that ends, with the times that the log has for it (8.1). Nothing is started before:
 * so what a span says is known when it is made, and a restart leaves nothing half done.
 */
export function createSpans({ sampler, content, ...options }: SpansOptions): Spans {
  /** Of the newest origins; the rest is derived again. */
  let traces = new Map<TraceOrigin, Trace>();

  const traceOf = (origin: TraceOrigin): Trace => {
    const known = traces.get(origin);
    if (known !== undefined) return known;
    const ids = traceIdsOf(origin);
    const made = { ...ids, isSampled: isSampled(sampler, ids) };
    if (traces.size >= MAX_TRACES_AT_HAND) traces = new Map();
    traces.set(origin, made);
    return made;
  };

  return {
    wants: (origin) => traceOf(origin).isSampled,
    ended(activity) {
      const made = traceOf(activity.origin);
      const { traceId, parent } = made;
      if (!made.isSampled || activity.endedAt === undefined) return;
      const { name, kind, attributes, failed } = spanOf(activity, content);
      const traceState = parent?.traceState;
      const contextOf = (activityName: string): SpanContext => ({
        traceId,
        spanId: spanIdOf(made, activityName),
        traceFlags: TraceFlags.SAMPLED,
        ...(traceState === undefined ? {} : { traceState }),
      });
      options.export({
        name,
        kind,
        context: contextOf(activity.name),
        parent: activity.parent === undefined ? parent : contextOf(activity.parent),
        startTime: timeOf(activity.startedAt),
        endTime: timeOf(activity.endedAt),
        attributes,
        events: activity.moments.map((moment) => ({ ...spanEventOf(moment), time: timeOf(moment.at) })),
        error: failed ? messageOf(activity, content) : undefined,
      });
    },
    contextOf(origin, activityName) {
      const made = traceOf(origin);
      const traceparent = traceparentOf(made.traceId, spanIdOf(made, activityName), made.isSampled);
      return { ...origin.traceContext, traceparent };
    },
  };
}

function isSampled(sampler: Sampler, { traceId, parent }: TraceIds): boolean {
  const around: Context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
  // The samplers of the standard look at the trace and its parent alone, so that a name would say nothing to them.
  const { decision } = sampler.shouldSample(around, traceId, '', SpanKind.INTERNAL, {}, []);
  return decision === SamplingDecision.RECORD_AND_SAMPLED;
}

/** What a tool says about its failure is content (8.5). */
function messageOf({ end }: Activity, content: ContentRecorder | undefined): string {
  return content !== undefined && end?.kind === 'failed' ? content.text(end.message) : '';
}

/** An instant with its fraction of a millisecond. */
function timeOf(instant: Instant): HrTime {
  const seconds = Math.floor(instant / 1_000);
  return [seconds, Math.min(Math.round((instant - seconds * 1_000) * 1_000_000), 999_999_999)];
}
