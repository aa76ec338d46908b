import { equals } from '@bufbuild/protobuf';
import type { ToolCallFinished } from '../../gen/spindle/v1/event_pb.ts';
import { FailureSchema, ToolResultSchema } from '../../gen/spindle/v1/result_pb.ts';
import { mismatched } from './answer.ts';
import { finish } from './attempt.ts';
import type { Call } from './call.ts';
import type { SettleCall } from './command.ts';
import { refused } from './refusal.ts';
import { DUPLICATE, type Ruling, recorded, refuse, refusedAnswer, stale } from './ruling.ts';
import type { Session } from './session.ts';

/**
 * An answer from outside ends a dispatched or an open call; a settled error ends it as well, without a retry
 * (4.9). A fast answer may come before the worker's deferral, which then is stale.
 */
export function decideSettle(session: Session, { callId, attempt, answer }: SettleCall): Ruling {
  const call = session.calls.get(callId);
  if (call === undefined) return refuse(refused('call_not_found', `no call ${callId}`).refusal);
  if (call.phase.kind === 'finished') {
    return hadOutcome(call.phase.end, answer) ? DUPLICATE : stale('the call has ended');
  }
  if (call.phase.kind !== 'dispatched' && call.phase.kind !== 'open')
    return notOpen(call, `it is ${call.phase.kind}`);
  if (attempt !== 0 && attempt !== call.attempt) return notOpen(call, `its attempt is ${call.attempt}`);
  if (answer.kind === 'failure') return recorded(finish(call, { error: answer.failure }));
  if (answer.mismatch !== undefined) return refusedAnswer(answer.mismatch, mismatched(call, answer.mismatch));
  return recorded(finish(call, { result: answer.result }));
}

/** A caller that lost our reply sends the same again, and learns that it was recorded. */
function hadOutcome({ outcome }: ToolCallFinished, answer: SettleCall['answer']): boolean {
  return answer.kind === 'failure'
    ? outcome.case === 'error' && equals(FailureSchema, outcome.value, answer.failure)
    : outcome.case === 'result' && equals(ToolResultSchema, outcome.value, answer.result);
}

function notOpen(call: Call, why: string): Ruling {
  const message = `call ${call.callId} cannot be settled now: ${why}`;
  return refuse(
    refused('call_not_open', message, { call_id: call.callId, attempt: String(call.attempt) }).refusal,
  );
}
