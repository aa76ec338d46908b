import { create } from '@bufbuild/protobuf';
import {
  InterruptRaisedSchema,
  type ToolCallDeferred,
  ToolCallDeferredSchema,
  ToolCallLateAnswerSchema,
} from '../../gen/spindle/v1/event_pb.ts';
import { afterDispatch, endAttempt, finish } from './attempt.ts';
import { type Call, earlier, type Lease, lastLease, totalDeadline } from './call.ts';
import type { AnswerLease, WorkerAnswer } from './command.ts';
import { about, type Draft } from './event.ts';
import { DUPLICATE, type Ruling, recorded, refusedAnswer, stale } from './ruling.ts';
import { timestamp } from './time.ts';
import { unreachable } from './unreachable.ts';

/** What a worker's answer does to the call that its lease belongs to. */
export function decideAnswer(call: Call, lease: Lease, command: AnswerLease): Ruling {
  if (lease.instanceId !== command.instanceId) return stale('this dispatch belongs to another worker');
  switch (lease.state.kind) {
    case 'answered':
    case 'deferred':
      return DUPLICATE;
    case 'running':
      return answerRunning(call, lease, command);
    case 'returned':
      return stale('this dispatch had come back unstarted', lateAnswer(call, lease, command.answer));
    case 'late':
      return stale('the late answer is on record already');
    case 'given_up':
      return answerLate(call, lease, command);
    default:
      return unreachable(lease.state);
  }
}

function answerRunning(call: Call, lease: Lease, { answer, at, draw }: AnswerLease): Ruling {
  switch (answer.kind) {
    case 'result':
      return answer.mismatch === undefined
        ? recorded(finish(call, { result: answer.result }, lease))
        : refusedAnswer(answer.mismatch, mismatched(call, answer.mismatch, lease));
    case 'failure': {
      const end = { failure: answer.failure, retryable: answer.failure.retryable, answered: true };
      return recorded(endAttempt(call, end, at, draw, lease));
    }
    case 'accept':
      return answer.proposed === undefined
        ? unfit(call, lease, 'there was no proposal to accept')
        : recorded(finish(call, { error: answer.proposed }, lease));
    case 'defer': {
      const timeout = answer.timeout === undefined ? undefined : at + answer.timeout;
      return recorded(deferred(call, lease, earlier(timeout, totalDeadline(call))));
    }
    case 'interrupt':
      return recorded(interrupted(call, lease, answer));
    case 'cancelled':
      return unfit(call, lease, 'nobody had asked for the handler to stop');
    case 'unfit':
      return unfit(call, lease, answer.reason);
    default:
      return unreachable(answer);
  }
}

/**
 * A late answer changes nothing, with one exception: a result for the newest attempt that comes before the
 * next is dispatched ends the call (4.5). What the tool did is known then, and need not be done again.
 */
function answerLate(call: Call, lease: Lease, { answer }: AnswerLease): Ruling {
  const newest = lastLease(call) === lease && call.phase.kind === 'waiting';
  if (newest && answer.kind === 'result' && answer.mismatch === undefined) {
    return recorded(finish(call, { result: answer.result }, lease));
  }
  return stale('the dispatch was over before this answer came', lateAnswer(call, lease, answer));
}

function lateAnswer(call: Call, lease: Lease, answer: WorkerAnswer): Draft {
  const value = create(ToolCallLateAnswerSchema, { callId: call.callId, attempt: lease.attempt });
  if (answer.kind === 'result') value.outcome = { case: 'result', value: answer.result };
  if (answer.kind === 'failure') value.outcome = { case: 'error', value: answer.failure };
  return { kind: { case: 'toolCallLateAnswer', value }, journal: about(lease) };
}

/** A result that breaks its output schema never reaches a model, and is not retried (3.2). */
export function mismatched(call: Call, mismatch: string, lease?: Lease): Draft {
  // The tool ran: what it did is done, though nobody may use what it answered.
  const error = afterDispatch(call, 'invalid_output', `The result of ${call.name} is refused. ${mismatch}`);
  return finish(call, { error }, lease);
}

function unfit(call: Call, lease: Lease, reason: string): Ruling {
  const what = `The worker of ${call.name} gave no usable answer: ${reason}`;
  const error = afterDispatch(call, 'invalid_answer', what);
  return refusedAnswer(reason, finish(call, { error }, lease));
}

function deferred(call: Call, lease: Lease, until: number | undefined): Draft {
  const value: ToolCallDeferred = create(ToolCallDeferredSchema, { callId: call.callId });
  if (until !== undefined) value.deadline = timestamp(until);
  return { kind: { case: 'toolCallDeferred', value }, journal: about(lease) };
}

function interrupted(call: Call, lease: Lease, answer: Extract<WorkerAnswer, { kind: 'interrupt' }>): Draft {
  const { interruptId, reason, payloadJson } = answer;
  const value = create(InterruptRaisedSchema, { interruptId, callId: call.callId, reason, payloadJson });
  return { kind: { case: 'interruptRaised', value }, journal: about(lease) };
}
