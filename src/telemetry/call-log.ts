import { originOfCall, originOfTurn, type TraceOrigin } from '../core/activity.ts';
import type { FailureCode } from '../core/failure.ts';
import { directCallOf } from '../core/session.ts';
import type { Observer, Recorder, SessionKey } from '../engine/ports.ts';

/** The ends of calls for which an operator can do something; what a tool says, or a caller asked for, is theirs. */
const FOR_OPERATORS: ReadonlySet<string> = new Set<FailureCode>([
  'queue_timeout',
  'run_timeout',
  'heartbeat_timeout',
  'outcome_unknown',
  'rejected',
  'invalid_output',
  'invalid_answer',
  'result_too_large',
  'overloaded',
  'provider_error',
  'rate_limited',
  'decider_unavailable',
  'internal',
]);

/**
 * A line of the log for each call, and each turn, that ended in a way that an operator should see: with its ids and
 * its code. Its text may hold what a tool or a model said, and stays out (9.4).
 *
 * @param recorder hears the same, and knows traces
 */
export function withCallLog(observer: Observer, recorder?: Recorder): Recorder {
  return {
    ...recorder,
    recorded(key, events, session) {
      recorder?.recorded(key, events, session);
      for (const { kind, turnId } of events) {
        if (kind.case === 'toolCallFinished' && kind.value.outcome.case === 'error') {
          const { callId, outcome } = kind.value;
          const call = session.calls.get(callId);
          if (call === undefined || !FOR_OPERATORS.has(outcome.value.code)) continue;
          const originOf = (): TraceOrigin =>
            turnId === ''
              ? originOfCall(key, call.requestedAt, call.traceContext)
              : originOfTurn(key, turnId, call.traceContext);
          const trace = traceIdOf(recorder?.contextOf?.(key, originOf, '') ?? call.traceContext);
          const ids = { ...sessionOf(key), call_id: callId, tool: call.name, ...trace };
          observer.report('warn', 'call_failed', { ...ids, code: outcome.value.code });
        }
        if (kind.case === 'turnEnded' && kind.value.outcome.case === 'failed') {
          const { code } = kind.value.outcome.value;
          if (!FOR_OPERATORS.has(code)) continue;
          const trace = traceIdOf(recorder?.contextOf?.(key, () => originOfTurn(key, turnId, {}), ''));
          observer.report('warn', 'turn_failed', { ...sessionOf(key), turn_id: turnId, ...trace, code });
        }
      }
    },
  };
}

function sessionOf({ sessionId }: SessionKey): { readonly session_id?: string } {
  return directCallOf(sessionId) === undefined ? { session_id: sessionId } : {};
}

function traceIdOf(traceContext: Readonly<Record<string, string>> | undefined): {
  readonly trace_id?: string;
} {
  const [, id] = /^[\da-f]{2}-([\da-f]{32})-/.exec(traceContext?.['traceparent'] ?? '') ?? [];
  return id === undefined ? {} : { trace_id: id };
}
