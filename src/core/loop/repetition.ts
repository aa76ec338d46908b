import { equals } from '@bufbuild/protobuf';
import { FailureSchema, ToolResultSchema } from '../../../gen/spindle/v1/result_pb.ts';
import type { Call } from '../call.ts';
import type { Session } from '../session.ts';
import type { Repetition, Turn } from './conversation.ts';

/** How often in a row the iterations made the same calls and got the same results (6.4). */
export function repetitionOf({ calls }: Session, { plan, repetition }: Turn): Repetition {
  const callIds = plan.map(({ callId }) => callId);
  const same =
    callIds.length > 0 &&
    callIds.length === repetition.callIds.length &&
    callIds.every((id, index) => isSameCall(calls.get(id), calls.get(repetition.callIds[index] ?? '')));
  return { callIds, count: same ? repetition.count + 1 : 1 };
}

function isSameCall(a: Call | undefined, b: Call | undefined): boolean {
  if (a?.phase.kind !== 'finished' || b?.phase.kind !== 'finished') return false;
  if (a.name !== b.name || a.arguments !== b.arguments) return false;
  const [left, right] = [a.phase.end.outcome, b.phase.end.outcome];
  if (left.case === 'result' && right.case === 'result')
    return equals(ToolResultSchema, left.value, right.value);
  return left.case === 'error' && right.case === 'error' && equals(FailureSchema, left.value, right.value);
}
