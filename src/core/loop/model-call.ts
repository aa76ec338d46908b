import { create } from '@bufbuild/protobuf';
import { ModelHandler } from '../../../gen/spindle/v1/agent_pb.ts';
import {
  ModelCallAttemptFailedSchema,
  ModelCallFinishedSchema,
  ModelCallRequestedSchema,
} from '../../../gen/spindle/v1/event_pb.ts';
import {
  type ChatMessage,
  ChatMessageSchema,
  type Part,
  PartSchema,
  Role,
  ToolCallPartSchema,
} from '../../../gen/spindle/v1/message_pb.ts';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import { type ModelResponse, ModelResponseSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { earlier } from '../call.ts';
import type { AnswerModel, RequestModel, Tick } from '../command.ts';
import type { Draft } from '../event.ts';
import { failure } from '../failure.ts';
import { MAX_CALLS_PER_RESPONSE, MAX_ID_CHARS } from '../limits.ts';
import { backoff, type Policy, policyMessage } from '../policy.ts';
import { happened, NOTHING, type Ruling, recorded, stale } from '../ruling.ts';
import type { Session } from '../session.ts';
import { duration, type Instant, millisOf } from '../time.ts';
import type { ModelCallInFlight } from './conversation.ts';
import { callsIn } from './messages.ts';

/** The engine's own layer for model calls (4.1). */
export const MODEL_POLICY: Policy = {
  queueTimeout: 60_000,
  runTimeout: 180_000,
  totalTimeout: 1_800_000,
  maxAttempts: 5,
  initialBackoff: 1_000,
  maxBackoff: 30_000,
  backoffMultiplier: 2,
};

/** The model call of an iteration, once its tools are known. One that cannot be made ends with its request. */
export function decideModelRequest({ conversation }: Session, command: RequestModel): Ruling {
  const turn = conversation?.turn;
  if (turn?.turnId !== command.turnId || turn.model?.kind !== 'due') return NOTHING;
  if (turn.model.iteration !== command.iteration) return NOTHING;
  const { callId, toolNames, toolSetDigest, historyRepairs, toolsLeftOut, toolsUnavailable, policy } =
    command;
  const value = create(ModelCallRequestedSchema, {
    callId,
    model: command.model,
    toolNames: [...toolNames],
    toolSetDigest,
    policy: policyMessage(policy),
    historyRepairs: [...historyRepairs],
    toolsLeftOut: [...toolsLeftOut],
    toolsUnavailable: [...toolsUnavailable],
  });
  const requested: Draft = { kind: { case: 'modelCallRequested', value } };
  if (command.unservable === undefined) return happened(requested);
  return happened(requested, finished(callId, 1, { case: 'error', value: command.unservable }));
}

/** What a model said, or how an attempt failed. */
export function decideModelAnswer(session: Session, command: AnswerModel): Ruling {
  const call = modelCallOf(session);
  if (call?.callId !== command.callId || call.attempt !== command.attempt)
    return stale('the model call was over before this answer came');
  const { answer, at, draw } = command;
  if (answer.kind === 'response') {
    const count = answer.response.message === undefined ? 0 : callsIn(answer.response.message).length;
    if (count > MAX_CALLS_PER_RESPONSE) {
      const what = `${call.model} made ${count} calls in one response; at most ${MAX_CALLS_PER_RESPONSE} are possible.`;
      return recorded(endAttempt(call, failure('invalid_answer', what, { retryable: true }), at, draw));
    }
    const value = withOwnIds(session, call.callId, answer.response);
    return recorded(finished(call.callId, call.attempt, { case: 'response', value }));
  }
  return recorded(endAttempt(call, answer.failure, at, draw));
}

export function modelCallOf({ conversation }: Session): ModelCallInFlight | undefined {
  const model = conversation?.turn?.model;
  return model?.kind === 'calling' ? model.call : undefined;
}

function endAttempt(call: ModelCallInFlight, error: Failure, at: Instant, draw: number): Draft {
  const { policy, attempt, callId } = call;
  const retryAfter = error.retryAfter === undefined ? 0 : millisOf(error.retryAfter);
  const wait = backoff(policy, attempt, draw, retryAfter);
  const total = totalDeadline(call);
  const goesOn =
    error.retryable && attempt < policy.maxAttempts && (total === undefined || at + wait < total);
  if (!goesOn) return finished(callId, attempt, { case: 'error', value: error });
  const value = create(ModelCallAttemptFailedSchema, { callId, attempt, error, backoff: duration(wait) });
  return { kind: { case: 'modelCallAttemptFailed', value } };
}

function finished(
  callId: string,
  attempts: number,
  outcome: { case: 'response'; value: ModelResponse } | { case: 'error'; value: Failure },
): Draft {
  const value = create(ModelCallFinishedSchema, { callId, attempts, outcome });
  return { kind: { case: 'modelCallFinished', value } };
}

/** When the attempt, or the call, is over. Where a worker makes the call, it may wait for one first. */
export function modelDeadline(session: Session, call: ModelCallInFlight): Instant | undefined {
  const { runTimeout, queueTimeout } = call.policy;
  const isWorkers = session.conversation?.agent?.modelHandler === ModelHandler.WORKER;
  const length = runTimeout === undefined ? undefined : runTimeout + (isWorkers ? (queueTimeout ?? 0) : 0);
  return earlier(length === undefined ? undefined : call.from + length, totalDeadline(call));
}

function totalDeadline({ policy, requestedAt }: ModelCallInFlight): Instant | undefined {
  return policy.totalTimeout === undefined ? undefined : requestedAt + policy.totalTimeout;
}

/** What the passing of time does to the model call. */
export function expireModelCall(session: Session, { at, draw }: Tick): Draft | undefined {
  const call = modelCallOf(session);
  if (call === undefined) return undefined;
  const total = totalDeadline(call);
  if (total !== undefined && total <= at) {
    const error = failure('total_timeout', `The calls of ${call.model} did not end in time.`);
    return finished(call.callId, call.attempt, { case: 'error', value: error });
  }
  const until = modelDeadline(session, call);
  if (until === undefined || until > at) return undefined;
  const error = failure('run_timeout', `${call.model} did not answer in time.`, { retryable: true });
  return endAttempt(call, error, at, draw);
}

/**
 * The response with call ids that are good in this session: providers leave them out, repeat them, and make them too
 * long (6.5). An assistant says it, whatever the provider calls the role.
 */
function withOwnIds(session: Session, modelCallId: string, response: ModelResponse): ModelResponse {
  const { message } = response;
  if (message === undefined) return response;
  const used = new Set(session.conversation?.messages.flatMap(callsIn).map(({ callId }) => callId));
  const given = new Set(callsIn(message).map(({ callId }) => callId));
  let index = 0;
  const parts = message.parts.map((part): Part => {
    if (part.kind.case !== 'toolCall') return part;
    index += 1;
    const { callId } = part.kind.value;
    const isGood =
      callId !== '' && callId.length <= MAX_ID_CHARS && !used.has(callId) && !session.calls.has(callId);
    let own = callId;
    if (!isGood) own = `${modelCallId}.${index}`;
    while (!isGood && (used.has(own) || given.has(own))) own = `${own}.${index}`;
    used.add(own);
    if (isGood) return part;
    const value = create(ToolCallPartSchema, { ...part.kind.value, callId: own });
    return create(PartSchema, { ...part, kind: { case: 'toolCall', value } });
  });
  const said: ChatMessage = create(ChatMessageSchema, { ...message, id: '', role: Role.ASSISTANT, parts });
  return create(ModelResponseSchema, { ...response, message: said });
}
