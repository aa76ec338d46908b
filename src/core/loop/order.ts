import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import type { Call } from '../call.ts';
import { type Session, withCall } from '../session.ts';
import type { Instant } from '../time.ts';

/**
 * Whether a call has to wait for others of its response: a sequential call waits for all before it, and those
 * after it wait for it (6.2).
 */
export function isHeldBack({ calls, conversation }: Session, { callId, sequential }: Call): boolean {
  for (const earlier of conversation?.turn?.plan ?? []) {
    if (earlier.callId === callId) return false;
    if (earlier.state === 'ended') continue;
    if (sequential || calls.get(earlier.callId)?.sequential === true) return true;
  }
  return false;
}

/** A call has ended: those that waited for it alone go on. Their clocks have stood still (4.4). */
export function released(session: Session, at: Instant): Session {
  let { calls } = session;
  // What is held back is of the running turn's iteration.
  for (const { callId } of session.conversation?.turn?.plan ?? []) {
    const call = calls.get(callId);
    if (call?.phase.kind !== 'held' || isHeldBack(session, call)) continue;
    const pausedFor = call.pausedFor + at - call.phase.from;
    calls = withCall(calls, { ...call, pausedFor, phase: readyPhase(call, at) });
  }
  return calls === session.calls ? session : { ...session, calls };
}

/** Where a call stands whose turn it is: a worker has to be found, or it is open for who runs it. */
export function readyPhase({ handler }: Call, from: Instant): Call['phase'] {
  return handler === ToolHandler.CLIENT || handler === ToolHandler.SUBAGENT
    ? { kind: 'open', until: undefined }
    : { kind: 'waiting', from, waited: 0 };
}
