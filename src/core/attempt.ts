import { create } from '@bufbuild/protobuf';
import { ToolCallAttemptFailedSchema, type ToolCallFinished } from '../../gen/spindle/v1/event_pb.ts';
import type { Failure, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { type Call, type Lease, mayHaveTakenEffect, totalDeadline } from './call.ts';
import { about, type Draft } from './event.ts';
import { type FailureCode, failure } from './failure.ts';
import { backoff } from './policy.ts';
import { duration, type Instant, millisOf } from './time.ts';

/**
 * The end of a call: one for each call, whatever arrives (4.5).
 *
 * @param by the lease whose answer ended it; absent where no answer of a worker did
 * @param attempts how many it took
 */
export function finish(
  call: Call,
  outcome: { readonly result: ToolResult } | { readonly error: Failure },
  by?: Lease,
  attempts: number = attemptsTaken(call),
): Draft {
  const value: ToolCallFinished = {
    $typeName: 'spindle.v1.ToolCallFinished',
    callId: call.callId,
    attempts,
    outcome:
      'result' in outcome
        ? { case: 'result', value: outcome.result }
        : { case: 'error', value: outcome.error },
  };
  return { kind: { case: 'toolCallFinished', value }, journal: about(by) };
}

/** The attempts that a worker had, or that failed before one did. One that still waits has not been taken. */
function attemptsTaken(call: Call): number {
  const begun = call.leases.some(
    (lease) => lease.attempt === call.attempt && lease.state.kind !== 'returned',
  );
  return begun ? call.attempt : call.attempt - 1;
}

/** The end of a sentence that gives somebody's reason in their own words. */
export function because(reason: string): string {
  const words = reason.trim();
  return words === '' ? '.' : `: ${words}${/[.!?]$/.test(words) ? '' : '.'}`;
}

/** A failure that tells the model where work may have taken effect though no answer says so (4.6). */
export function afterDispatch(call: Call, code: FailureCode, message: string): Failure {
  if (!mayHaveTakenEffect(call)) return failure(code, message);
  const warning = 'It may have taken effect nevertheless; check before you repeat it.';
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  return failure(code, `${sentence} ${warning}`, { mayHaveTakenEffect: true });
}

/** How an attempt ended without a result, and what may follow from it. */
export interface AttemptEnd {
  readonly failure: Failure;
  /** The policy may try again, as far as attempts and time are left. */
  readonly retryable: boolean;
  /** The worker said so itself (4.5). */
  readonly answered: boolean;
}

/**
 * The end of an attempt: another one follows where the failure allows it, attempts are left, and the next
 * would begin before the total clock is over (4.2). Otherwise the call ends with the failure.
 */
export function endAttempt(call: Call, end: AttemptEnd, at: Instant, draw: number, lease?: Lease): Draft {
  const wait = retryWait(call, end, at, draw);
  if (wait === undefined) {
    return finish(call, { error: end.failure }, end.answered ? lease : undefined, call.attempt);
  }
  const value = create(ToolCallAttemptFailedSchema, {
    callId: call.callId,
    attempt: call.attempt,
    error: end.failure,
    backoff: duration(wait),
    answered: end.answered,
  });
  return { kind: { case: 'toolCallAttemptFailed', value }, journal: about(lease) };
}

function retryWait(call: Call, end: AttemptEnd, at: Instant, draw: number): number | undefined {
  if (!end.retryable || call.attempt >= call.policy.maxAttempts) return undefined;
  const { retryAfter } = end.failure;
  const wait = backoff(call.policy, call.attempt, draw, retryAfter === undefined ? 0 : millisOf(retryAfter));
  const deadline = totalDeadline(call);
  return deadline === undefined || at + wait < deadline ? wait : undefined;
}
