import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import type { Call } from '../call.ts';
import { type Session, withCall } from '../session.ts';
import type { Instant } from '../time.ts';
import { argumentsIn } from './messages.ts';
import { isHeldBack, readyPhase } from './order.ts';

/** A call as it stands when it is requested: its arguments are in a message, and it may have to wait. */
export function requested(session: Session, { kind }: SessionEvent): Session {
  const { conversation } = session;
  const call = kind.case === 'toolCallRequested' ? session.calls.get(kind.value.callId) : undefined;
  if (conversation === undefined || call === undefined || kind.case !== 'toolCallRequested') return session;
  const { messageId, arguments: own } = kind.value;
  const text =
    own === '' && messageId !== '' ? argumentsIn(conversation.messages, messageId, call.callId) : own;
  const phase = firstPhase(session, call);
  return { ...session, calls: withCall(session.calls, { ...call, arguments: text, phase }) };
}

/** Where a call stands at first (6.2, 6.9, 6.11). */
function firstPhase(session: Session, call: Call): Call['phase'] {
  const from = call.requestedAt;
  for (const { callId, state, interruptId, reason } of session.conversation?.interrupts.values() ?? []) {
    if (callId === call.callId && state.kind === 'open') {
      return { kind: 'interrupted', interruptId, reason, from, waited: 0 };
    }
  }
  return isHeldBack(session, call) ? { kind: 'held', from } : readyPhase(call, from);
}

/** Its interrupt was answered: it may still have to wait for others, and not every call waits for a worker. */
export function resumed(session: Session, callId: string, at: Instant): Session {
  const call = session.calls.get(callId);
  if (call?.phase.kind !== 'waiting' || call.leases.length > 0) return session;
  const phase: Call['phase'] = isHeldBack(session, call) ? { kind: 'held', from: at } : readyPhase(call, at);
  return { ...session, calls: withCall(session.calls, { ...call, phase }) };
}
