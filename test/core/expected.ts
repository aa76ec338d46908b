import { expect } from 'vitest';
import type { ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { duration, type Millis, timestamp } from '../../src/core/time.ts';
import { CALL_ID, START } from './commands.ts';
import type { Expected } from './given.ts';

/** Events as tests name them. Times are milliseconds since START; a field that is left out may be anything. */

export function requested(fields: object = {}): Expected {
  return { case: 'toolCallRequested', value: { callId: CALL_ID, ...fields } };
}

/** @param deadline of the attempt */
export function dispatched(attempt: number, deadline: Millis, fields: object = {}): Expected {
  const value = { callId: CALL_ID, attempt, deadline: timestamp(START + deadline), ...fields };
  return { case: 'toolCallDispatched', value };
}

export function requeued(attempt: number, reason: string): Expected {
  return { case: 'toolCallRequeued', value: { callId: CALL_ID, attempt, reason } };
}

export function attemptFailed(
  attempt: number,
  code: string,
  fields: { readonly backoff: Millis; readonly answered: boolean },
): Expected {
  const { backoff, answered } = fields;
  const value = { callId: CALL_ID, attempt, error: { code }, backoff: duration(backoff), answered };
  return { case: 'toolCallAttemptFailed', value };
}

export function finishedWith(attempts: number, result: ToolResult): Expected {
  const value = { callId: CALL_ID, attempts, outcome: { case: 'result', value: result } };
  return { case: 'toolCallFinished', value };
}

/** @param error beside the code: whether the work may have taken effect, say */
export function failedWith(attempts: number, code: string, error: object = {}): Expected {
  const value = { callId: CALL_ID, attempts, outcome: { case: 'error', value: { code, ...error } } };
  return { case: 'toolCallFinished', value };
}

/** The failure says that the work may have been done, and its text tells the model (4.6). */
export const MAYBE_DONE = {
  mayHaveTakenEffect: true,
  message: expect.stringContaining('It may have taken effect nevertheless'),
};

/** Nothing was handed out, or an answer says what became of it. */
export const NOT_DONE = {
  mayHaveTakenEffect: false,
  message: expect.not.stringContaining('may have taken effect'),
};

export function deferredUntil(deadline: Millis): Expected {
  return { case: 'toolCallDeferred', value: { callId: CALL_ID, deadline: timestamp(START + deadline) } };
}

export function interruptRaised(interruptId: string): Expected {
  return { case: 'interruptRaised', value: { callId: CALL_ID, interruptId } };
}

export function interruptResumed(interruptId: string): Expected {
  return { case: 'interruptResumed', value: { callId: CALL_ID, interruptId } };
}

/** @param outcome what the late answer said; `undefined` where it was neither result nor failure */
export function lateAnswer(attempt: number, outcome: 'result' | 'error' | undefined): Expected {
  return { case: 'toolCallLateAnswer', value: { callId: CALL_ID, attempt, outcome: { case: outcome } } };
}

export function checkpointed(attempt: number): Expected {
  return { case: 'toolCallCheckpointed', value: { callId: CALL_ID, attempt } };
}
