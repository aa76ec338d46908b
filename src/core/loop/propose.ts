import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type ActionSchema, type Decision, DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import { type AgentConfig, IterationLimit } from '../../../gen/spindle/v1/agent_pb.ts';
import type { ModelCallFinished } from '../../../gen/spindle/v1/event_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import { failure } from '../failure.ts';
import { DEFAULT_MAX_ITERATIONS, DEFAULT_REMINDERS, MAX_REPETITIONS } from '../limits.ts';
import type { Session } from '../session.ts';
import { unreachable } from '../unreachable.ts';
import type { PendingTrigger, Turn } from './conversation.ts';
import { callsIn, messageOfCall, messageOfModelCall, textMessage } from './messages.ts';
import { repetitionOf } from './repetition.ts';
import { SUBMIT_RESULT } from './reserved.ts';

type ActionInit = MessageInitShape<typeof ActionSchema>['kind'];

/**
 * The decision that the engine makes itself, for the first trigger of a session (6.1). A worker that subscribed to
 * it gets this, and may return it as it is.
 */
export function propose(session: Session, trigger: PendingTrigger): Decision {
  const { conversation } = session;
  if (conversation === undefined) return create(DecisionSchema);
  const { cause } = trigger;
  switch (cause.kind) {
    case 'session.start':
      return create(DecisionSchema, conversation.agent === undefined ? {} : { agent: conversation.agent });
    case 'client.messages': {
      const input = conversation.turn?.input?.kind;
      return create(DecisionSchema, {
        messages: input?.case === 'messages' ? input.value.messages : [],
        actions: actions(next(session, trigger)),
      });
    }
    case 'client.action':
    case 'turn.finished':
      return create(DecisionSchema, {
        actions: cause.kind === 'client.action' ? [] : [doneAction(conversation.turn)],
      });
    case 'tool.finished':
    case 'subagent.finished': {
      const call = session.calls.get(cause.callId);
      const end = call?.phase.kind === 'finished' ? call.phase.end : undefined;
      return create(DecisionSchema, {
        messages: call === undefined || end === undefined ? [] : [messageOfCall(call, end)],
        actions: actions(next(session, trigger)),
      });
    }
    case 'model.finished':
      return afterModel(session, cause.end);
    case 'interrupt.resumed':
      return afterInterrupt(session, trigger, cause.interruptId);
    default:
      return unreachable(cause);
  }
}

function actions(step: Step): { kind: NonNullable<ActionInit> }[] {
  return step.kind === 'go' ? [{ kind: step.action }] : [];
}

function doneAction(turn: Turn | undefined): { kind: NonNullable<ActionInit> } {
  const outputJson = turn?.finishing?.outputJson ?? turn?.conclusion?.outputJson ?? '';
  return { kind: { case: 'done', value: { outputJson } } };
}

/** The response is recorded; its calls start, or the turn is done. A failure is for the turn to end with. */
function afterModel(session: Session, end: ModelCallFinished): Decision {
  const turn = session.conversation?.turn;
  const message = messageOfModelCall(end);
  if (message === undefined) return create(DecisionSchema);
  // An earlier trigger has ended the turn meanwhile: nothing starts any more.
  if (turn?.finishing !== undefined) return create(DecisionSchema, { messages: [message] });
  const calls = callsIn(message);
  if (calls.length > 0) {
    return create(DecisionSchema, {
      messages: [message],
      actions: calls.map(({ callId, name, arguments: text }) => ({
        kind: { case: 'toolCall' as const, value: { callId, name, arguments: text } },
      })),
    });
  }
  if (turn?.task === undefined)
    return create(DecisionSchema, { messages: [message], actions: [doneAction(turn)] });
  const left = turn.reminders <= (turn.task.maxReminders ?? DEFAULT_REMINDERS);
  const step = left ? nextModelCall(session) : WAIT;
  return create(DecisionSchema, {
    messages: step.kind === 'go' ? [message, textMessage(Role.USER, REMINDER)] : [message],
    actions: actions(step),
  });
}

const REMINDER = `The task is not finished until its result is submitted: call ${SUBMIT_RESULT} with the result.`;

/** Where the turn paused: approved calls start, denied ones end, and a turn without calls goes on. */
function afterInterrupt(session: Session, trigger: PendingTrigger, interruptId: string): Decision {
  const { conversation } = session;
  const interrupt = conversation?.interrupts.get(interruptId);
  if (conversation === undefined || interrupt?.state.kind !== 'answered') return create(DecisionSchema);
  const { callId } = interrupt;
  const { denyReason } = interrupt.state;
  if (callId === '') {
    if (denyReason !== undefined) return create(DecisionSchema, { actions: [doneAction(undefined)] });
    const last = conversation.messages.at(-1);
    const answered =
      last !== undefined && last.id === conversation.turn?.answerId && callsIn(last).length === 0;
    return create(DecisionSchema, {
      actions: answered ? [doneAction(conversation.turn)] : actions(next(session, trigger)),
    });
  }
  const call = session.calls.get(callId);
  // Another decision, or its end, came first.
  if (call?.phase.kind !== 'interrupted') return create(DecisionSchema);
  if (denyReason === undefined) {
    const value = { callId, name: call.name };
    return create(DecisionSchema, { actions: [{ kind: { case: 'toolCall', value } }] });
  }
  const error = failure('denied', denyReason === '' ? `${call.name} was denied.` : denyReason);
  return create(DecisionSchema, { actions: [{ kind: { case: 'toolError', value: { callId, error } } }] });
}

/** What follows once nothing of an iteration is left to wait for. */
export type Step =
  | { readonly kind: 'go'; readonly action: NonNullable<ActionInit> }
  /** Something else has to happen first. */
  | { readonly kind: 'wait' }
  /** A limit is reached: the turn ends with this. */
  | { readonly kind: 'fail'; readonly failure: Failure };

const WAIT: Step = { kind: 'wait' };

/** The step after a trigger of a running turn (6.1, 6.4, 3.5). */
export function next(session: Session, trigger: PendingTrigger): Step {
  const { conversation } = session;
  const turn = conversation?.turn;
  if (conversation === undefined || turn === undefined) return { kind: 'wait' };
  if (turn.model !== undefined || turn.finishing !== undefined) return { kind: 'wait' };
  if (turn.plan.some(({ state }) => state !== 'ended')) return { kind: 'wait' };
  // Each end of a call is decided by itself, and the last one of them goes on; a response may start more calls.
  if (conversation.triggers.some((other) => other !== trigger && goesOnByItself(other)))
    return { kind: 'wait' };
  if (turn.conclusion !== undefined) return { kind: 'go', action: doneAction(turn).kind };
  return nextModelCall(session);
}

function goesOnByItself({ cause: { kind } }: PendingTrigger): boolean {
  return kind === 'tool.finished' || kind === 'subagent.finished' || kind === 'model.finished';
}

/** The next model call, as far as the limits of the turn allow it (6.4). */
export function nextModelCall(session: Session): Step {
  const { agent, turn } = session.conversation ?? {};
  if (turn === undefined) return { kind: 'wait' };
  const budget = budgetFailure(agent, turn);
  if (budget !== undefined) return { kind: 'fail', failure: budget };
  const max = maxIterations(agent);
  // The model was told so already, and made calls instead of an answer.
  if (turn.repetition.count >= MAX_REPETITIONS && isLastCall(turn))
    return { kind: 'fail', failure: repeated() };
  const isRepeating = repetitionOf(session, turn).count >= MAX_REPETITIONS;
  if (turn.iterations < max && !isRepeating) return { kind: 'go', action: { case: 'modelCall', value: {} } };
  if (agent?.onIterationLimit === IterationLimit.FAIL || turn.iterations > max) {
    return { kind: 'fail', failure: isRepeating ? repeated() : iterationFailure(turn, max) };
  }
  const value = turn.task === undefined ? { withoutTools: true } : { toolNames: [SUBMIT_RESULT] };
  return { kind: 'go', action: { case: 'modelCall', value } };
}

/** The newest model call was one that offers nothing to go on with. */
function isLastCall({ nextModelCall: { withoutTools, toolNames } }: Turn): boolean {
  return withoutTools || (toolNames.length === 1 && toolNames[0] === SUBMIT_RESULT);
}

function repeated(): Failure {
  const what = `The model made the same calls and got the same results ${MAX_REPETITIONS} times in a row.`;
  return failure('repeated_call', what);
}

function iterationFailure({ iterations }: Turn, max: number): Failure {
  return failure('max_iterations', `The turn has made ${iterations} model calls; its limit is ${max}.`);
}

export function maxIterations(agent: AgentConfig | undefined): number {
  return agent?.maxIterations || DEFAULT_MAX_ITERATIONS;
}

/** The turn has used up its tokens (6.4). */
export function budgetFailure(agent: AgentConfig | undefined, turn: Turn): Failure | undefined {
  const max = agent?.maxTokensPerTurn ?? 0;
  const used = turn.usage.inputTokens + turn.usage.outputTokens;
  if (max === 0 || used < max) return undefined;
  return failure('budget_exceeded', `The turn has used ${used} tokens; its limit is ${max}.`);
}
