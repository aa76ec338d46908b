import {
  type Context,
  type HrTime,
  ROOT_CONTEXT,
  type Sampler,
  SamplingDecision,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { TraceOrigin } from '../core/activity.ts';
import type { Instant } from '../core/time.ts';
import type { Activity } from './activity.ts';
import type { ContentRecorder } from './content.ts';
import type { ActivitySink } from './recorder.ts';
import { type TraceIds, traceIdsOf, traceparentOf } from './span-ids.ts';
import { spanEventOf, spanOf } from './span-of.ts';

export interface SpansOptions {
  readonly tracer: Tracer;
  /** The sampler of the tracer's own provider: it is asked first, so that what it does not want costs nothing. */
  readonly sampler: Sampler;
  /** Says which ids the tracer's next span has. */
  readonly preset: (ids: { readonly traceId: string; readonly spanId: string }) => void;
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

/** Makes a span of each activity that ends, with the times that the log has for it (8.1). */
export function createSpans({ tracer, sampler, preset, content }: SpansOptions): Spans {
  const traces = new WeakMap<TraceOrigin, Trace>();

  const traceOf = (origin: TraceOrigin): Trace => {
    const known = traces.get(origin);
    if (known !== undefined) return known;
    const ids = traceIdsOf(origin);
    const { traceId, parent } = ids;
    const around = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    // The samplers of the standard look at the trace and its parent alone, so that the name says nothing to them.
    const { decision } = sampler.shouldSample(around, traceId, '', SpanKind.INTERNAL, {}, []);
    const made = { ...ids, isSampled: decision === SamplingDecision.RECORD_AND_SAMPLED };
    traces.set(origin, made);
    return made;
  };

  /** The context that an activity's span begins in. */
  const around = ({ traceId, parent, spanId }: Trace, activity: Activity): Context => {
    if (activity.parent === undefined)
      return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    return trace.setSpanContext(ROOT_CONTEXT, {
      traceId,
      spanId: spanId(activity.parent),
      traceFlags: TraceFlags.SAMPLED,
      ...(parent?.traceState === undefined ? {} : { traceState: parent.traceState }),
    });
  };

  return {
    wants: (origin) => traceOf(origin).isSampled,
    ended(activity) {
      const made = traceOf(activity.origin);
      if (!made.isSampled || activity.endedAt === undefined) return;
      const { name, kind, attributes, failed } = spanOf(activity, content);
      preset({ traceId: made.traceId, spanId: made.spanId(activity.name) });
      const startTime = timeOf(activity.startedAt);
      const span = tracer.startSpan(name, { kind, attributes, startTime }, around(made, activity));
      for (const moment of activity.moments) {
        const event = spanEventOf(moment);
        span.addEvent(event.name, event.attributes, timeOf(moment.at));
      }
      if (failed) {
        const message = content !== undefined && activity.end?.kind === 'failed' ? activity.end.message : '';
        span.setStatus({ code: SpanStatusCode.ERROR, ...(message === '' ? {} : { message }) });
      }
      span.end(timeOf(activity.endedAt));
    },
    contextOf(origin, activityName) {
      const { traceId, spanId, isSampled } = traceOf(origin);
      const traceparent = traceparentOf(traceId, spanId(activityName), isSampled);
      return { ...origin.traceContext, traceparent };
    },
  };
}

/** An instant with its fraction of a millisecond, as the SDK takes it without rounding. */
function timeOf(instant: Instant): HrTime {
  const seconds = Math.floor(instant / 1_000);
  return [seconds, Math.min(Math.round((instant - seconds * 1_000) * 1_000_000), 999_999_999)];
}
