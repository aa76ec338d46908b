import type { Attributes, Context, SpanContext, Tracer } from '@opentelemetry/api';
import { VERSION } from '../version.ts';
import type { Ending, Subject } from '../work.ts';

/** What a handler's span is about. */
export interface HandlerPlace {
  readonly subject: Subject;
  /** The dispatch's: it names the span of the attempt, which is the parent (8.2). */
  readonly traceContext: Readonly<Record<string, string>>;
}

/** Spans around handlers (8.1). */
export interface HandlerSpans {
  /** Before the first dispatch. Never rejects. */
  load(): Promise<void>;
  /** Runs a handler as the active span, so that the spans which its author makes are its children. */
  within(place: HandlerPlace, run: () => Promise<Ending>): Promise<Ending>;
}

/**
 * Spans by the API of OpenTelemetry, which does nothing until the process registers an SDK. It is loaded when a worker
 * runs, and not when this package is imported; where it is not installed, handlers run without spans.
 */
export function createHandlerSpans(): HandlerSpans {
  let api: typeof import('@opentelemetry/api') | undefined;
  let tracer: Tracer | undefined;

  const contextOf = (
    { propagation, ROOT_CONTEXT, trace }: NonNullable<typeof api>,
    traceContext: HandlerPlace['traceContext'],
  ): Context => {
    const extracted = propagation.extract(ROOT_CONTEXT, traceContext);
    if (trace.getSpanContext(extracted) !== undefined) return extracted;
    // A process that registered a tracer and no propagator reads nothing; the parent is known all the same.
    const parent = spanContextOf(traceContext['traceparent']);
    return parent === undefined ? extracted : trace.setSpanContext(extracted, parent);
  };

  return {
    async load() {
      // Not installed: there is nothing that a span could be made with.
      api = await import('@opentelemetry/api').catch(() => undefined);
      tracer = api?.trace.getTracer('spindle', VERSION);
    },
    async within({ subject, traceContext }, run) {
      if (api === undefined || tracer === undefined) return run();
      const { context, SpanKind, SpanStatusCode, trace } = api;
      const parent = contextOf(api, traceContext);
      const options = { kind: SpanKind.SERVER, attributes: attributesOf(subject) };
      const span = trace
        .getTracer('spindle', VERSION)
        .startSpan(`handle ${nameOf(subject)}`, options, parent);
      try {
        const ending = await context.with(trace.setSpan(parent, span), run);
        const code = failureOf(ending);
        if (code !== undefined)
          span.setAttribute('error.type', code).setStatus({ code: SpanStatusCode.ERROR });
        return ending;
      } finally {
        span.end();
      }
    },
  };
}

function nameOf(subject: Subject): string {
  return subject.kind === 'call' ? subject.toolName : subject.trigger;
}

/** Without `gen_ai.operation.name`: backends would count the call twice (8.3). */
function attributesOf(subject: Subject): Attributes {
  return subject.kind === 'call'
    ? { 'gen_ai.tool.name': subject.toolName, 'gen_ai.tool.call.id': subject.callId }
    : { 'gen_ai.agent.name': subject.agentId };
}

/** The code of a failure; a handler that was stopped, deferred or interrupted has not failed (8.4). */
function failureOf(ending: Ending): string | undefined {
  if (ending.kind === 'gave_back') return 'rejected';
  const { outcome } = ending;
  switch (outcome.case) {
    case 'error':
      return outcome.value.code === '' ? 'tool_error' : outcome.value.code;
    case 'result':
      return outcome.value.isError ? 'tool_error' : undefined;
    case 'accept':
      return 'invalid_arguments';
    default:
      return undefined;
  }
}

/** From a traceparent of the W3C's version 00, which is what an engine sends. */
function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] =
    /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/.exec(traceparent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
