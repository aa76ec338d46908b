import { create } from '@bufbuild/protobuf';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import {
  AcceptProposalSchema,
  CancelledSchema,
  type Dispatch,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { failure } from '../core/failure.ts';
import type { ToolContext } from './context.ts';
import { type InputAnswer, type InvalidInput, invalidInputOf, isInputAnswer } from './invalid-input.ts';
import type { JsonValue } from './json.ts';
import { type AnswerOutcome, type Handler, outcomeOf } from './outcome.ts';
import { type Parsed, parseWith } from './parse.ts';
import { contextOf, type HandlerHooks } from './tool-context.ts';
import { failureOf, messageOf } from './tool-error.ts';

/**
 * Runs a handler for one dispatch and gives its answer. Never rejects: whatever the author's code throws is
 * the outcome of its own call, and touches no other.
 */
export async function handle(
  handler: Handler,
  dispatch: Dispatch,
  execute: ToolExecute,
  hooks: HandlerHooks,
): Promise<AnswerOutcome> {
  try {
    const context = contextOf(dispatch, execute, hooks);
    const input = invalidInputOf(dispatch, execute);
    if (input === undefined) return await runValid(handler, context, hooks);
    return await runInvalid(handler, input, context, hooks);
  } catch (thrown) {
    return stoppedBecauseAsked(thrown, hooks.signal)
      ? { case: 'cancelled', value: create(CancelledSchema) }
      : { case: 'error', value: failureOf(thrown) };
  }
}

/** Only the abort itself, or what a platform function makes of it: a handler may fail for its own reasons. */
export function stoppedBecauseAsked(thrown: unknown, signal: AbortSignal): boolean {
  if (!signal.aborted) return false;
  return thrown === signal.reason || (thrown instanceof Error && thrown.name === 'AbortError');
}

async function runValid(handler: Handler, context: ToolContext, hooks: HandlerHooks): Promise<AnswerOutcome> {
  const value: JsonValue = JSON.parse(context.argumentsJson);
  return run(handler, value, context, hooks);
}

/** The author's handler for such input, or the engine's proposal (1.2). */
async function runInvalid(
  handler: Handler,
  input: InvalidInput,
  context: ToolContext,
  hooks: HandlerHooks,
): Promise<AnswerOutcome> {
  const { onInvalidInput } = handler;
  const answer = onInvalidInput === undefined ? input.accept() : await onInvalidInput(input, context);
  if (answer === undefined) return accepted(input);
  if (!isInputAnswer(answer)) return outcomeOf(handler, answer);
  return answerInput(handler, input, answer, context, hooks);
}

function answerInput(
  handler: Handler,
  input: InvalidInput,
  answer: InputAnswer,
  context: ToolContext,
  hooks: HandlerHooks,
): AnswerOutcome | Promise<AnswerOutcome> {
  if (answer.kind === 'accept') return accepted(input);
  return run(handler, answer.value, context, hooks);
}

function accepted(input: InvalidInput): AnswerOutcome {
  if (input.proposal !== undefined) {
    return { case: 'accept', value: create(AcceptProposalSchema) };
  }
  // Only a trigger with a proposal takes `accept`.
  const why = input.status === 'malformed' ? input.error : 'they do not match the schema of the tool';
  return { case: 'error', value: failure('invalid_arguments', `The arguments are not valid: ${why}`) };
}

async function run(
  handler: Handler,
  value: JsonValue,
  context: ToolContext,
  hooks: HandlerHooks,
): Promise<AnswerOutcome> {
  const parsed: Parsed<unknown> =
    handler.schema === undefined
      ? { ok: true, value }
      : await parseWith(handler.schema, value, 'invalid_arguments', 'The arguments are');
  if (!parsed.ok) return { case: 'error', value: parsed.failure };
  const { describeActivity } = handler;
  const activity = label(() => describeActivity?.(parsed.value), context, hooks);
  if (activity !== undefined) hooks.report({ activity });
  const returned = await handler.execute(parsed.value, context);
  const { describeCompletedActivity } = handler;
  const summary = () => label(() => describeCompletedActivity?.(parsed.value, returned), context, hooks);
  return outcomeOf(handler, returned, summary);
}

/** A label that cannot be made is reported, and fails nothing (6.13). */
function label(
  make: () => string | undefined,
  context: ToolContext,
  hooks: HandlerHooks,
): string | undefined {
  try {
    const made: unknown = make();
    return typeof made === 'string' && made !== '' ? made : undefined;
  } catch (thrown) {
    hooks.warn(`the label of ${context.toolName} could not be made: ${messageOf(thrown)}`);
    return undefined;
  }
}
