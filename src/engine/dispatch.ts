import { create } from '@bufbuild/protobuf';
import { ActionSchema, DecisionSchema, ToolErrorActionSchema } from '../../gen/spindle/v1/action_pb.ts';
import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import type { ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../gen/spindle/v1/worker_service_pb.ts';
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
  /** Empty for a direct call. */
  readonly turnId: string;
  /** Empty for a direct call. */
  readonly agentId: string;
  readonly now: Instant;
  readonly traceContext: Readonly<Record<string, string>>;
}

/** The frame that asks a worker to run a call's attempt. */
export function dispatchMessage(
  call: Call,
  lease: Lease,
  { sessionId, idempotencyKey, turnId, agentId, now, traceContext }: DispatchPlace,
): Dispatch {
  const input = lease.input ?? call.input;
  const until = call.phase.kind === 'dispatched' ? call.phase.until : undefined;
  const execute: ToolExecute = {
    $typeName: 'spindle.v1.ToolExecute',
    callId: call.callId,
    name: call.name,
    arguments: call.arguments,
    input,
    attempt: lease.attempt,
    deadline: until === undefined ? undefined : timestamp(until),
    timeRemaining: until === undefined ? undefined : duration(Math.max(until - now, 0)),
    idempotencyKey,
    checkpoint: call.checkpoint ?? NO_CHECKPOINT,
    resumed: call.resumed,
  };
  const proposed = inputFailure(call.name, input);
  return {
    $typeName: 'spindle.v1.Dispatch',
    // The worker's stream fills in these two (Workers.dispatch).
    leaseToken: '',
    sequence: 0,
    trigger: { $typeName: 'spindle.v1.Trigger', kind: { case: 'toolExecute', value: execute } },
    proposed: proposed && proposalOf(proposed),
    sessionId,
    turnId,
    agentId,
    caller: call.caller,
    traceContext: { ...traceContext },
    context: undefined,
    decisionId: '',
  };
}

const NO_CHECKPOINT = new Uint8Array();

function proposalOf(error: Failure) {
  const action = create(ToolErrorActionSchema, { error });
  return create(DecisionSchema, {
    actions: [create(ActionSchema, { kind: { case: 'toolError', value: action } })],
  });
}
