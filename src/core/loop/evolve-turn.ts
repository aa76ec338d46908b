import { create } from '@bufbuild/protobuf';
import { ModelCallActionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import type {
  ModelCallFinished,
  SessionEvent,
  ToolCallFinished,
  TurnEnded,
} from '../../../gen/spindle/v1/event_pb.ts';
import { type Usage, UsageSchema } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { FinishReason } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Session } from '../session.ts';
import type { Instant } from '../time.ts';
import type { Conversation, Interrupt, PlannedCall, Turn } from './conversation.ts';
import { callsIn } from './messages.ts';
import { trigger, withTurn } from './pending-triggers.ts';

export function turnStarted(before: Conversation, event: SessionEvent, at: Instant): Conversation {
  const { turnId, sequence, kind } = event;
  if (kind.case !== 'turnStarted') return before;
  const { input, task } = kind.value;
  const turn: Turn = {
    turnId,
    origin: originOf(event),
    startedAt: at,
    input,
    task,
    iterations: 0,
    usage: create(UsageSchema),
    model: undefined,
    nextModelCall: create(ModelCallActionSchema),
    toolSetDigest: '',
    plan: [],
    cutShort: false,
    failing: undefined,
    finishing: undefined,
    conclusion: undefined,
    reminders: 0,
    repetition: { callIds: [], count: 0 },
    answerId: '',
  };
  const turns = new Map(before.turns).set(turnId, {
    afterSequence: sequence - 1,
    queued: false,
    ended: undefined,
    usage: undefined,
  });
  const queue = before.queue.filter((queued) => queued.turnId !== turnId);
  const cause = input?.kind.case === 'action' ? 'client.action' : 'client.messages';
  return trigger({ ...before, turn, turns, queue }, { kind: cause }, event);
}

export function turnEnded(before: Conversation, turnId: string, ended: TurnEnded): Conversation {
  const afterSequence = before.turns.get(turnId)?.afterSequence ?? 0;
  const usage = before.turn?.turnId === turnId ? before.turn.usage : undefined;
  const turns = new Map(before.turns).set(turnId, { afterSequence, queued: false, ended, usage });
  const queue = before.queue.filter((queued) => queued.turnId !== turnId);
  if (before.turn?.turnId !== turnId) return { ...before, turns, queue };
  return {
    ...before,
    turns,
    queue,
    turn: undefined,
    triggers: before.triggers.filter(({ cause }) => cause.kind === 'session.start'),
    interrupts: dropped(before.interrupts, () => true),
  };
}

export function modelEnded(before: Conversation, { outcome }: ModelCallFinished): Conversation {
  return withTurn(before, (turn) => {
    if (outcome.case === 'error') return { ...turn, model: undefined, failing: outcome.value };
    if (outcome.case !== 'response') return { ...turn, model: undefined };
    const { usage, finishReason, message } = outcome.value;
    const isProse = turn.task !== undefined && message !== undefined && callsIn(message).length === 0;
    return {
      ...turn,
      model: undefined,
      usage: addUsage(turn.usage, usage),
      cutShort: finishReason === FinishReason.LENGTH,
      reminders: turn.reminders + (isProse ? 1 : 0),
    };
  });
}

export function callEnded(
  session: Session,
  before: Conversation,
  { callId, outcome, usage }: ToolCallFinished,
  event: SessionEvent,
): Conversation {
  const call = session.calls.get(callId);
  if (call === undefined) return before;
  const succeeded = outcome.case === 'result' && !outcome.value.isError;
  const concludes = succeeded && (call.endsTurn || outcome.value.endsTurn);
  const isSubmission = concludes && call.handler === ToolHandler.ENGINE;
  const after = withTurn(planned(before, callId, 'ended'), (turn) => ({
    ...turn,
    usage: addUsage(turn.usage, usage),
    conclusion: concludes
      ? {
          outputJson: isSubmission
            ? (outcome.value.structuredJson ?? '')
            : (turn.conclusion?.outputJson ?? ''),
        }
      : turn.conclusion,
  }));
  const interrupts = dropped(after.interrupts, (interrupt) => interrupt.callId === callId);
  const kind = call.handler === ToolHandler.SUBAGENT ? 'subagent.finished' : 'tool.finished';
  return trigger({ ...after, interrupts }, { kind, callId }, event);
}

/** Interrupts that nobody needs to answer any more. */
function dropped(
  interrupts: Conversation['interrupts'],
  isOver: (interrupt: Interrupt) => boolean,
): Conversation['interrupts'] {
  const open = [...interrupts.values()].filter((each) => each.state.kind === 'open' && isOver(each));
  if (open.length === 0) return interrupts;
  const after = new Map(interrupts);
  for (const each of open) after.set(each.interruptId, { ...each, state: { kind: 'dropped' } });
  return after;
}

export function planned(before: Conversation, callId: string, state: PlannedCall['state']): Conversation {
  return withTurn(before, (turn) => ({
    ...turn,
    plan: turn.plan.map((each) => (each.callId === callId ? { ...each, state } : each)),
  }));
}

function addUsage(a: Usage, b: Usage | undefined): Usage {
  if (b === undefined) return a;
  return create(UsageSchema, {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  });
}

export function originOf({ journal }: SessionEvent): Turn['origin'] {
  return { caller: journal?.caller, traceContext: journal?.traceContext ?? {} };
}
