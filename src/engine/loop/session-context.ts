import { create } from '@bufbuild/protobuf';
import { type CallSummary, CallSummarySchema } from '../../../gen/spindle/v1/call_pb.ts';
import {
  ContextLevel,
  type SessionContext,
  SessionContextSchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { Session } from '../../core/session.ts';
import type { Instant } from '../../core/time.ts';
import { callMessage } from '../updates.ts';

/** As much of a session as a binding asked for; undefined where the trigger is enough. */
export function sessionContext(
  session: Session,
  level: ContextLevel,
  now: Instant,
): SessionContext | undefined {
  const { conversation } = session;
  if (conversation === undefined || level < ContextLevel.STATE) return undefined;
  const { stateJson, stateVersion, agent, ancestry, messages } = conversation;
  return create(SessionContextSchema, {
    stateJson,
    stateVersion,
    ancestry: [...ancestry],
    calls: callsInFlight(session, now),
    ...(agent && { agent }),
    ...(level >= ContextLevel.FULL ? { messages: [...messages] } : {}),
  });
}

function callsInFlight({ sessionId, calls }: Session, now: Instant): CallSummary[] {
  return [...calls.values()]
    .filter(({ phase }) => phase.kind !== 'finished')
    .map((call) => {
      const { callId, name, attempt, status } = callMessage(sessionId, call, now);
      return create(CallSummarySchema, { callId, name, attempt, status });
    });
}
