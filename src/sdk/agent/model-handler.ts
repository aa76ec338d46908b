import { create } from '@bufbuild/protobuf';
import type { Caller } from '../../../gen/spindle/v1/call_pb.ts';
import type { ModelExecute, ModelRequest, ModelResponse } from '../../../gen/spindle/v1/trigger_pb.ts';
import { CancelledSchema, type Dispatch } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { type Millis, millisOf } from '../../core/time.ts';
import { stoppedBecauseAsked } from '../handle.ts';
import type { AnswerOutcome } from '../outcome.ts';
import { failureOf, ModelError } from '../tool-error.ts';
import type { WorkHooks } from '../work.ts';
import { createReplyBuilder, type ModelPart, type ModelReply, responseOf } from './model-reply.ts';

/** What a model handler knows about its call. */
export interface ModelContext {
  /** The model, the conversation, the tools and the settings. */
  readonly request: ModelRequest;
  readonly callId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Aborted when nobody wants the answer any more: hand it to the request. */
  readonly signal: AbortSignal;
  /** What is left of the attempt's time; Infinity where it has no bound. */
  timeRemaining(): Millis;
  readonly sessionId: string;
  readonly turnId: string;
  readonly agentId: string;
  readonly caller: Caller | undefined;
  /** W3C trace context: traceparent, tracestate, baggage. */
  readonly traceContext: Readonly<Record<string, string>>;
}

type Reply = string | ModelReply | ModelResponse;

/**
 * Makes a model call. An async iterable gives the answer in parts, which watchers see at once; an async generator
 * may also return a reply, which then counts in place of its parts. A promise gives it whole. Throw a ModelError
 * to say whether trying again may help; any other error is a `provider_error` that is not retried.
 */
export type ModelHandler = (context: ModelContext) => Parts | Promise<Reply> | Reply;

// biome-ignore lint/suspicious/noConfusingVoidType: a generator without a return statement is one.
type Parts = AsyncIterable<ModelPart, Reply | undefined | void>;

/** Runs a model handler for one dispatch and gives its answer. Never rejects. */
export async function handleModelCall(
  handler: ModelHandler,
  dispatch: Dispatch,
  execute: ModelExecute,
  hooks: WorkHooks,
): Promise<AnswerOutcome> {
  try {
    return { case: 'modelResponse', value: await respond(handler, dispatch, execute, hooks) };
  } catch (thrown) {
    return stoppedBecauseAsked(thrown, hooks.signal)
      ? { case: 'cancelled', value: create(CancelledSchema) }
      : { case: 'error', value: failureOf(thrown, ModelError.code) };
  }
}

async function respond(
  handler: ModelHandler,
  dispatch: Dispatch,
  execute: ModelExecute,
  hooks: WorkHooks,
): Promise<ModelResponse> {
  const { request, callId, attempt, timeRemaining } = execute;
  if (request === undefined) throw new Error('the engine sent no request: it breaks the contract');
  const { sessionId, turnId, agentId, caller, traceContext } = dispatch;
  const expires = timeRemaining === undefined ? undefined : hooks.now() + millisOf(timeRemaining);
  const answer = handler({
    request,
    callId,
    attempt,
    signal: hooks.signal,
    timeRemaining: () =>
      expires === undefined ? Number.POSITIVE_INFINITY : Math.max(0, expires - hooks.now()),
    sessionId,
    turnId,
    agentId,
    caller,
    traceContext,
  });
  return isParts(answer) ? await collect(answer, callId, hooks) : responseOf(await answer);
}

function isParts(answer: ReturnType<ModelHandler>): answer is Parts {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;
}

async function collect(parts: Parts, callId: string, hooks: WorkHooks): Promise<ModelResponse> {
  const builder = createReplyBuilder(callId);
  const iterator = parts[Symbol.asyncIterator]();
  for (;;) {
    const step = await iterator.next();
    if (step.done === true) return responseOf(step.value ?? builder.response());
    try {
      hooks.signal.throwIfAborted();
      const delta = builder.add(step.value);
      if (delta !== undefined) hooks.stream([delta]);
    } catch (thrown) {
      // The provider's stream is closed with it; how that goes matters to nobody any more.
      await Promise.resolve(iterator.return?.()).catch(() => undefined);
      throw thrown;
    }
  }
}
