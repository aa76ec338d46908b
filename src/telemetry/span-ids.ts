import { hash } from 'node:crypto';
import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { TraceOrigin } from '../core/activity.ts';

const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;

/**
 * The ids of a trace, derived from what the log says. So an engine that restarts continues the traces that its
 * predecessor began, without a word about it in memory or on disk (8.2).
 */
export interface TraceIds {
  readonly traceId: string;
  /** The caller's span; undefined where the trace begins here. */
  readonly parent: SpanContext | undefined;
  spanId(activityName: string): string;
}

export function traceIdsOf({ name, traceContext }: TraceOrigin): TraceIds {
  const parent = parentOf(traceContext);
  return {
    traceId: parent?.traceId ?? hash('sha256', name, 'hex').slice(0, TRACE_ID_DIGITS),
    parent,
    spanId: (activityName) => hash('sha256', `${name}\n${activityName}`, 'hex').slice(0, SPAN_ID_DIGITS),
  };
}

/** The caller's span, from `traceparent` and `tracestate` (W3C Trace Context); undefined for none, or a malformed one. */
function parentOf({ traceparent, tracestate }: TraceOrigin['traceContext']): SpanContext | undefined {
  if (traceparent === undefined) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent) ?? [];
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(context) ? context : undefined;
}

/** Version ff is no version; version 00 ends behind its flags, and later ones may go on. */
const TRACEPARENT = /^(?!ff|00.{53}.)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** The header that names a span as the parent of what happens elsewhere. */
export function traceparentOf(traceId: string, spanId: string, isSampled: boolean): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
