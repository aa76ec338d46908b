import { create } from '@bufbuild/protobuf';
import {
  type Action,
  ActionSchema,
  type Decision,
  ToolCallActionSchema,
} from '../../../gen/spindle/v1/action_pb.ts';
import {
  AgentUpdatedSchema,
  DecisionRecordedSchema,
  StateUpdatedSchema,
} from '../../../gen/spindle/v1/event_pb.ts';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import { afterDispatch, finish } from '../attempt.ts';
import type { Draft } from '../event.ts';
import { failure } from '../failure.ts';
import type { Session } from '../session.ts';
import type { Instant } from '../time.ts';
import { sameConfig } from './agent-config.ts';
import { type PendingTrigger, pausing } from './conversation.ts';
import { decisionFault, goesOn } from './decision-fault.ts';
import { raise } from './interrupts.ts';
import { next, nextModelCall } from './propose.ts';
import { recordMessages, withCallsHeld } from './record-messages.ts';
import { begin, type Story, tell } from './story.ts';
import { endTurn, failTurn } from './turn.ts';

export type Applied =
  | { readonly kind: 'applied'; readonly story: Story }
  /** The decision breaks a rule, and nothing of it holds (6.16). */
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * What a decision on the first trigger of a session leads to.
 *
 * @param workerName who made it; empty where the proposal applies by itself
 */
export function apply(
  session: Session,
  trigger: PendingTrigger,
  given: Decision,
  { at, workerName }: { readonly at: Instant; readonly workerName: string },
): Applied {
  const decision = withCallsHeld(session, trigger, given);
  const reason = decisionFault(session, trigger, decision);
  if (reason !== undefined) return { kind: 'refused', reason };
  const recorded = recordDecision(begin(session, at), trigger, decision);
  const started = decision.actions.filter((action) => isStart(session, action)).map(compact);
  const story = follow(recorded, trigger, decision, decided(trigger, workerName, started));
  // Where nothing is left to wait for, the turn is over: the decision says so in the log.
  if (!isIdle(story.session)) return { kind: 'applied', story };
  const ending = endingFailure(session, trigger);
  if (ending !== undefined) return { kind: 'applied', story: failTurn(story, ending) };
  const done = create(ActionSchema, { kind: { case: 'done', value: {} } });
  return { kind: 'applied', story: tell(recorded, decided(trigger, workerName, [...started, done])) };
}

/** What a decision records: messages, state, configuration, ends of calls, interrupts. */
export function recordDecision(before: Story, trigger: PendingTrigger, decision: Decision): Story {
  let story = recordMessages(before, trigger, decision.messages);
  if (decision.stateJson !== undefined) {
    const value = create(StateUpdatedSchema, { stateJson: decision.stateJson });
    story = tell(story, { kind: { case: 'stateUpdated', value } });
  }
  if (decision.agent !== undefined && !sameConfig(decision.agent, story.session.conversation?.agent)) {
    const value = create(AgentUpdatedSchema, { agent: decision.agent });
    story = tell(story, { kind: { case: 'agentUpdated', value } });
  }
  for (const { kind } of decision.actions) {
    if (kind.case === 'toolResult' || kind.case === 'toolError')
      story = tell(story, ...ended(story, kind.value));
    if (kind.case === 'interrupt') story = raise(story, kind.value);
  }
  return story;
}

/** The end of a call that a decision names. The worker that has it is told to stop. */
function ended({ session }: Story, value: ResultAction): Draft[] {
  const call = session.calls.get(value.callId);
  if (call === undefined || call.phase.kind === 'finished') return [];
  if (value.$typeName === 'spindle.v1.ToolErrorAction') {
    const error =
      value.error ?? failure('tool_error', `${call.name} failed, and the decision did not say why.`);
    return [finish(call, { error })];
  }
  return value.form.case === 'result' ? [finish(call, { result: value.form.value })] : [];
}

type ResultAction = Extract<Action['kind'], { case: 'toolResult' | 'toolError' }>['value'];

/** The decision itself, and what it starts at once. */
function follow(recorded: Story, trigger: PendingTrigger, decision: Decision, decided: Draft): Story {
  const isDone = decision.actions.some(({ kind }) => kind.case === 'done');
  if (trigger.cause.kind === 'turn.finished' && !decision.actions.some(goesOn)) {
    return endTurn(tell(recorded, decided));
  }
  let story = tell(isDone ? withoutCalls(recorded) : recorded, decided);
  for (const { kind } of decision.actions) {
    if (kind.case === 'modelCall') {
      const iteration = (story.session.conversation?.turn?.iterations ?? 0) + 1;
      const value = { $typeName: 'spindle.v1.IterationStarted', iteration } as const;
      story = tell(story, { kind: { case: 'iterationStarted', value } });
    }
    if (kind.case === 'toolCall' && isInterrupted(recorded.session, kind.value.callId)) {
      const { callId } = kind.value;
      const attempt = story.session.calls.get(callId)?.attempt ?? 1;
      const value = { $typeName: 'spindle.v1.ToolCallRequeued', callId, attempt, reason: 'resumed' } as const;
      story = tell(story, { kind: { case: 'toolCallRequeued', value } });
    }
  }
  return story;
}

/** `done` ends what still runs. */
function withoutCalls(story: Story): Story {
  const running = [...story.session.calls.values()].filter(({ phase }) => phase.kind !== 'finished');
  return tell(
    story,
    ...running.map((call) =>
      finish(call, {
        error: afterDispatch(call, 'cancelled', `${call.name} was cancelled: the turn is done.`),
      }),
    ),
  );
}

function decided({ decisionId }: PendingTrigger, workerName: string, actions: Action[]): Draft {
  const value = create(DecisionRecordedSchema, { decisionId, workerName, actions });
  return { kind: { case: 'decisionRecorded', value } };
}

/** What the log keeps of a decision's actions: what it started. */
function isStart(session: Session, { kind }: Action): boolean {
  switch (kind.case) {
    case 'modelCall':
    case 'subagentSpawn':
    case 'done':
      return true;
    case 'toolCall':
      return !isInterrupted(session, kind.value.callId);
    default:
      return false;
  }
}

function isInterrupted({ calls }: Session, callId: string): boolean {
  return calls.get(callId)?.phase.kind === 'interrupted';
}

/** Arguments are in the message that holds the call (7.5). */
function compact(action: Action): Action {
  if (action.kind.case !== 'toolCall') return action;
  const { callId, name, retry } = action.kind.value;
  const value = create(ToolCallActionSchema, { callId, name, ...(retry && { retry }) });
  return create(ActionSchema, { kind: { case: 'toolCall', value } });
}

/** A turn runs, and nothing is left that it could wait for. */
function isIdle({ conversation }: Session): boolean {
  const turn = conversation?.turn;
  return (
    conversation !== undefined &&
    turn !== undefined &&
    turn.model === undefined &&
    conversation.triggers.length === 0 &&
    turn.plan.every(({ state }) => state === 'ended') &&
    pausing(conversation) === undefined
  );
}

/** How a turn ends that does not go on: with the failure of its model, or at the limit that it reached. */
function endingFailure(session: Session, trigger: PendingTrigger): Failure | undefined {
  const { conversation } = session;
  const turn = conversation?.turn;
  if (conversation === undefined || turn === undefined) return undefined;
  if (turn.failing !== undefined) return turn.failing;
  switch (trigger.cause.kind) {
    case 'client.messages':
    case 'tool.finished':
    case 'subagent.finished':
    case 'interrupt.resumed': {
      const step = next(session, trigger);
      return step.kind === 'fail' ? step.failure : undefined;
    }
    case 'model.finished': {
      if (turn.task === undefined) return undefined;
      const step = nextModelCall(session);
      if (step.kind === 'fail') return step.failure;
      return failure(
        'task_not_submitted',
        'The model ended its answer without submitting the result of the task.',
      );
    }
    default:
      return undefined;
  }
}
