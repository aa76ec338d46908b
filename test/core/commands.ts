import { create } from '@bufbuild/protobuf';
import { CallerSchema } from '../../gen/spindle/v1/call_pb.ts';
import {
  type Failure,
  FailureSchema,
  type ToolResult,
  ToolResultSchema,
} from '../../gen/spindle/v1/result_pb.ts';
import { type ToolInput, ToolInputSchema } from '../../gen/spindle/v1/tool_pb.ts';
import type {
  AnswerLease,
  CancelCall,
  Checkpoint,
  DisownCall,
  Heard,
  LoseLease,
  PlaceCall,
  Placement,
  RejectLease,
  RequestCall,
  ResumeInterrupt,
  SettleCall,
  Tick,
  WorkerAnswer,
} from '../../src/core/command.ts';
import { failure } from '../../src/core/failure.ts';
import type { Policy } from '../../src/core/policy.ts';
import { duration, type Instant, type Millis } from '../../src/core/time.ts';

/** Commands as the engine would make them. Times are milliseconds since START; a call is `c1` unless named. */
export const CALL_ID = 'c1';
export const START: Instant = 1_750_000_000_000;

/** Every clock runs, each with its own length; attempts and waits are easy to reckon. */
export const POLICY: Policy = {
  queueTimeout: 10_000,
  runTimeout: 20_000,
  totalTimeout: 100_000,
  maxAttempts: 1,
  initialBackoff: 1_000,
  maxBackoff: 30_000,
  backoffMultiplier: 2,
};

/** A draw for which a wait is half its bound. */
const HALF = 0.5;

export function input(kind: 'valid' | 'invalid' | 'malformed'): ToolInput {
  switch (kind) {
    case 'valid':
      return create(ToolInputSchema, { status: { case: 'valid', value: {} } });
    case 'invalid':
      return create(ToolInputSchema, { status: { case: 'invalid', value: {} } });
    case 'malformed':
      return create(ToolInputSchema, { status: { case: 'malformed', value: { error: 'not JSON' } } });
  }
}

/** The error that a model reads about arguments that do not match. */
export const BAD_ARGUMENTS: Failure = failure('invalid_arguments', 'The arguments do not match.');

export function request(
  more: Partial<Omit<RequestCall, 'kind' | 'at' | 'policy'>> & { readonly policy?: Partial<Policy> } = {},
  at: Millis = 0,
): RequestCall {
  return {
    kind: 'request',
    at: START + at,
    callId: CALL_ID,
    name: 'charge',
    arguments: '{"amount":12}',
    toolDigest: 'digest-a',
    input: input('valid'),
    inputFailure: undefined,
    safeToRepeat: false,
    requireValidInput: false,
    caller: create(CallerSchema, { tenant: 'acme', subject: 'ann' }),
    traceContext: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    unservable: undefined,
    placement: undefined,
    ...more,
    policy: { ...POLICY, ...more.policy },
  };
}

export function placement(leaseToken: string, more: Partial<Placement> = {}): Placement {
  return { leaseToken, instanceId: 'i1', streamNumber: 1, workerName: 'w1', recheck: undefined, ...more };
}

export function place(leaseToken: string, at: Millis, more: Partial<Placement> = {}): PlaceCall {
  return { kind: 'place', at: START + at, callId: CALL_ID, placement: placement(leaseToken, more) };
}

export function answer(leaseToken: string, what: WorkerAnswer, at: Millis, draw = HALF): AnswerLease {
  return { kind: 'answer', at: START + at, leaseToken, instanceId: 'i1', answer: what, draw };
}

export function reject(leaseToken: string, at: Millis, draw = HALF): RejectLease {
  return { kind: 'reject', at: START + at, leaseToken, instanceId: 'i1', reason: 'draining', draw };
}

export function lose(leaseToken: string, how: LoseLease['how'], at: Millis, draw = HALF): LoseLease {
  return { kind: 'lose', at: START + at, leaseToken, how, draw };
}

export function checkpoint(leaseToken: string, bytes: readonly number[], at: Millis): Checkpoint {
  return { kind: 'checkpoint', at: START + at, leaseToken, checkpoint: Uint8Array.from(bytes) };
}

export function settle(what: SettleCall['answer'], at: Millis, attempt = 0): SettleCall {
  return { kind: 'settle', at: START + at, callId: CALL_ID, attempt, answer: what };
}

export function cancel(at: Millis, reason = ''): CancelCall {
  return { kind: 'cancel', at: START + at, callId: CALL_ID, reason };
}

export function resume(interruptId: string, at: Millis, denyReason?: string): ResumeInterrupt {
  return { kind: 'resume', at: START + at, interruptId, payloadJson: '"yes"', denyReason };
}

export function disown(at: Millis): DisownCall {
  return {
    kind: 'disown',
    at: START + at,
    callId: CALL_ID,
    failure: failure('unknown_tool', 'No tool charge.'),
  };
}

export function tick(at: Millis, heard: Heard = new Map(), draw = HALF): Tick {
  return { kind: 'tick', at: START + at, draw, heard };
}

export function text(value: string): ToolResult {
  return create(ToolResultSchema, { content: [{ kind: { case: 'text', value: { text: value } } }] });
}

export function result(value: string): Extract<WorkerAnswer, { kind: 'result' }> {
  return { kind: 'result', result: text(value), mismatch: undefined };
}

export function mismatch(what: string): Extract<WorkerAnswer, { kind: 'result' }> {
  return { kind: 'result', result: text('odd'), mismatch: what };
}

export function failed(
  code: string,
  more: { readonly retryable?: boolean; readonly retryAfter?: Millis } = {},
): Extract<WorkerAnswer, { kind: 'failure' }> {
  const { retryable = false, retryAfter } = more;
  const wait = retryAfter === undefined ? {} : { retryAfter: duration(retryAfter) };
  return {
    kind: 'failure',
    failure: create(FailureSchema, { code, message: 'It broke.', retryable, ...wait }),
  };
}

export function defer(timeout?: Millis): WorkerAnswer {
  return { kind: 'defer', timeout };
}

export function interrupt(interruptId: string): WorkerAnswer {
  return { kind: 'interrupt', interruptId, reason: 'confirm', payloadJson: '{"amount":12}' };
}

export const ACCEPT: WorkerAnswer = { kind: 'accept', proposed: BAD_ARGUMENTS };
export const ACCEPT_NOTHING: WorkerAnswer = { kind: 'accept', proposed: undefined };
export const STOPPED: WorkerAnswer = { kind: 'cancelled' };
export const UNFIT: WorkerAnswer = { kind: 'unfit', reason: 'no outcome is set' };
