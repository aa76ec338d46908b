import { hash } from 'node:crypto';
import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags } from '@opentelemetry/api';
import type { TraceOrigin } from '../core/activity.ts';

/**
 * The ids of a trace, derived from what the log says. So an engine that restarts continues the traces that its
 * predecessor began, without a word about it in memory or on disk (8.2).
 */
export interface TraceIds {
  readonly traceId: string;
  /** The caller's span; undefined where the trace begins here. */
  readonly parent: SpanContext | undefined;
  /** What the ids of spans are derived from, twice 32 bits: those of two origins in one trace differ. */
  readonly seed: readonly [high: number, low: number];
}

export function traceIdsOf({ name, traceContext }: TraceOrigin): TraceIds {
  const parent = parentOf(traceContext);
  const digest = hash('sha256', name, 'hex');
  return {
    traceId: parent?.traceId ?? digest.slice(0, 32),
    parent,
    seed: [bitsOf(digest, 32), bitsOf(digest, 40)],
  };
}

/**
 * 64 bits of the seed and the name, mixed as FNV-1a does. An id has to differ from the others of its trace and from
 * nothing else, and there are two for each call: a cryptographic hash would be a good part of what a span costs.
 */
export function spanIdOf({ seed }: TraceIds, activityName: string): string {
  let [high, low] = seed;
  for (let index = 0; index < activityName.length; index++) {
    const unit = activityName.charCodeAt(index);
    high = Math.imul(high ^ unit, FNV_PRIME);
    low = Math.imul(low ^ unit ^ (high >>> 13), FNV_PRIME);
  }
  // No id is all zeros (W3C Trace Context, section 3.2.2.4).
  return hex(high) + hex(low === 0 ? 1 : low);
}

const FNV_PRIME = 0x01000193;

function bitsOf(digest: string, from: number): number {
  return Number.parseInt(digest.slice(from, from + 8), 16);
}

/** The two digits of each byte: number formatting would be most of what an id costs. */
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hex(bits: number): string {
  return `${BYTES[bits >>> 24]}${BYTES[(bits >>> 16) & 0xff]}${BYTES[(bits >>> 8) & 0xff]}${BYTES[bits & 0xff]}`;
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
