import { MAX_TRACE_CONTEXT_BYTES } from '../core/limits.ts';

/** Version, trace id, parent id and flags; no id is all zeros (W3C Trace Context, section 3.2). */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/;
const PRINTABLE = /^[\x20-\x7e\t]+$/;

/** Looks a header or a metadata entry up by its lower-case name. */
export type HeaderLookup = (name: string) => string | undefined;

/**
 * The W3C trace context of a request. What is malformed is ignored, as the standard asks, and what does not fit
 * MAX_TRACE_CONTEXT_BYTES is left out: a trace is never a reason to refuse a call.
 */
export function traceContextOf(header: HeaderLookup): Readonly<Record<string, string>> {
  const context: Record<string, string> = {};
  let room = MAX_TRACE_CONTEXT_BYTES;
  const keep = (name: string, value: string | undefined): void => {
    // Only ASCII passes, so that characters count bytes.
    if (value === undefined || !PRINTABLE.test(value) || name.length + value.length > room) return;
    room -= name.length + value.length;
    context[name] = value;
  };
  const traceparent = header('traceparent');
  if (traceparent !== undefined && TRACEPARENT.test(traceparent)) {
    keep('traceparent', traceparent);
    // A state without the trace it belongs to means nothing.
    keep('tracestate', header('tracestate'));
  }
  keep('baggage', header('baggage'));
  return context;
}
