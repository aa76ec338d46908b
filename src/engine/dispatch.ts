import { create } from '@bufbuild/protobuf';
import { ActionSchema, DecisionSchema, ToolErrorActionSchema } from '../../gen/spindle/v1/action_pb.ts';
import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import type { ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import { ToolExecuteSchema, TriggerSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import { type Dispatch, DispatchSchema } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Call, Lease } from '../core/call.ts';
import { failure } from '../core/failure.ts';
import { duration, type Instant, timestamp } from '../core/time.ts';
import { explainInput } from '../schema/explain.ts';

/** The error that a model reads about arguments that do not match; undefined for valid ones (1.2, 1.9). */
export function inputFailure(toolName: string, input: ToolInput | undefined): Failure | undefined {
  if (input === undefined || input.status.case === 'valid') return undefined;
  return failure('invalid_arguments', explainInput(toolName, input));
}

/** What the proposal of a dispatch would end the call with; undefined where the proposal is empty. */
export function proposedFailure(call: Call, lease: Lease): Failure | undefined {
  return inputFailure(call.name, lease.input ?? call.input);
}

export interface DispatchPlace {
  readonly sessionId: string;
  readonly idempotencyKey: string;
  readonly now: Instant;
}

/** The frame that asks a worker to run a call's attempt. */
export function dispatchMessage(
  call: Call,
  lease: Lease,
  { sessionId, idempotencyKey, now }: DispatchPlace,
): Dispatch {
  const input = lease.input ?? call.input;
  const until = call.phase.kind === 'dispatched' ? call.phase.until : undefined;
  const execute = create(ToolExecuteSchema, {
    callId: call.callId,
    name: call.name,
    arguments: call.arguments,
    attempt: lease.attempt,
    idempotencyKey,
  });
  if (input !== undefined) execute.input = input;
  if (until !== undefined) {
    execute.deadline = timestamp(until);
    execute.timeRemaining = duration(Math.max(until - now, 0));
  }
  if (call.checkpoint !== undefined) execute.checkpoint = call.checkpoint;
  if (call.resumed !== undefined) execute.resumed = call.resumed;
  const dispatch = create(DispatchSchema, {
    trigger: create(TriggerSchema, { kind: { case: 'toolExecute', value: execute } }),
    sessionId,
    traceContext: { ...call.traceContext },
  });
  if (call.caller !== undefined) dispatch.caller = call.caller;
  const proposed = inputFailure(call.name, input);
  if (proposed !== undefined) dispatch.proposed = proposalOf(proposed);
  return dispatch;
}

function proposalOf(error: Failure) {
  const action = create(ToolErrorActionSchema, { error });
  return create(DecisionSchema, {
    actions: [create(ActionSchema, { kind: { case: 'toolError', value: action } })],
  });
}
