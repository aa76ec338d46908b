import { create } from '@bufbuild/protobuf';
import { ModelCallActionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import type {
  DecisionRecorded,
  ModelCallFinished,
  SessionCreated,
  SessionEvent,
  ToolCallFinished,
  TurnEnded,
} from '../../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, Role, type Usage, UsageSchema } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { FinishReason } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Call } from '../call.ts';
import { policyOf } from '../policy.ts';
import { type Session, withCall } from '../session.ts';
import { type Instant, millisOf } from '../time.ts';
import {
  type Cause,
  type Conversation,
  type Interrupt,
  type PendingTrigger,
  type PlannedCall,
  pausing,
  type Turn,
} from './conversation.ts';
import { argumentsIn, callsIn, messageOfCall, messageOfModelCall } from './messages.ts';
import { isHeldBack, readyPhase, released } from './order.ts';
import { repetitionOf } from './repetition.ts';

/** What an event means to a conversation. The calls of the session have been evolved already. */
export function evolveConversation(session: Session, event: SessionEvent, at: Instant): Session {
  const { kind } = event;
  if (kind.case === 'sessionCreated') {
    const conversation = trigger(created(kind.value, at), { kind: 'session.start' }, event);
    return { ...session, conversation };
  }
  const { conversation } = session;
  if (conversation === undefined) return session;
  switch (kind.case) {
    case 'toolCallRequested':
      return requested(
        { ...session, conversation: planned(conversation, kind.value.callId, 'requested') },
        event,
      );
    case 'toolCallFinished':
      return released({ ...session, conversation: callEnded(session, conversation, kind.value, event) }, at);
    case 'toolCallRequeued':
      return kind.value.reason === 'resumed' ? resumed(session, kind.value.callId, at) : session;
    default:
      return { ...session, conversation: evolveKind(session, conversation, event, at) };
  }
}

function evolveKind(session: Session, before: Conversation, event: SessionEvent, at: Instant): Conversation {
  const { kind } = event;
  switch (kind.case) {
    case 'agentUpdated':
      return { ...before, agent: kind.value.agent };
    case 'stateUpdated':
      return { ...before, stateJson: kind.value.stateJson, stateVersion: before.stateVersion + 1 };
    case 'messageRecorded':
      return recorded(session, before, kind.value.message, kind.value.ofCallId);
    case 'turnQueued': {
      const { turnId } = event;
      const queued = { turnId, input: kind.value.input, task: kind.value.task, origin: originOf(event) };
      const turns = new Map(before.turns).set(turnId, {
        afterSequence: 0,
        queued: true,
        ended: undefined,
        usage: undefined,
      });
      return { ...before, turns, queue: [...before.queue, queued] };
    }
    case 'turnStarted':
      return turnStarted(before, event, at);
    case 'iterationStarted':
      return withTurn(before, (turn) => ({
        ...turn,
        iterations: kind.value.iteration,
        repetition: repetitionOf(session, turn),
        plan: [],
        failing: undefined,
        model: { kind: 'due', iteration: kind.value.iteration, action: turn.nextModelCall },
      }));
    case 'modelCallRequested': {
      const { callId, model, policy, toolSetDigest, toolsUnavailable } = kind.value;
      return withTurn(before, (turn) => ({
        ...turn,
        toolSetDigest,
        model: {
          kind: 'calling',
          call: {
            callId,
            model,
            toolSetDigest,
            toolsUnavailable,
            iteration: turn.iterations,
            action: turn.nextModelCall,
            policy: policyOf(policy),
            requestedAt: at,
            attempt: 1,
            from: at,
          },
        },
      }));
    }
    case 'modelCallAttemptFailed': {
      const from = at + (kind.value.backoff === undefined ? 0 : millisOf(kind.value.backoff));
      return withTurn(before, (turn) => {
        if (turn.model?.kind !== 'calling') return turn;
        const call = { ...turn.model.call, attempt: kind.value.attempt + 1, from };
        return { ...turn, model: { kind: 'calling', call } };
      });
    }
    case 'modelCallFinished':
      return trigger(modelEnded(before, kind.value), { kind: 'model.finished', end: kind.value }, event);
    case 'subagentStarted':
      return { ...before, children: new Map(before.children).set(kind.value.callId, kind.value.sessionId) };
    case 'interruptRaised': {
      const { interruptId, callId, reason, payloadJson } = kind.value;
      const raisedByHandler = (event.journal?.leaseToken ?? '') !== '';
      const interrupt: Interrupt = {
        interruptId,
        callId,
        reason,
        payloadJson,
        raisedByHandler,
        state: { kind: 'open' },
      };
      return { ...before, interrupts: new Map(before.interrupts).set(interruptId, interrupt) };
    }
    case 'interruptResumed': {
      const { interruptId, payloadJson, denyReason } = kind.value;
      const interrupt = before.interrupts.get(interruptId);
      if (interrupt === undefined) return before;
      const state = { kind: 'answered', payloadJson, denyReason } as const;
      const interrupts = new Map(before.interrupts).set(interruptId, { ...interrupt, state });
      // Whoever decides has waited with the turn: the clock of the decision begins anew.
      const triggers =
        interrupt.callId === ''
          ? withFirst(before.triggers, (first) => ({ ...first, askedAt: first.askedAt && at }))
          : before.triggers;
      const answered = { ...before, interrupts, triggers };
      return interrupt.raisedByHandler
        ? answered
        : trigger(answered, { kind: 'interrupt.resumed', interruptId }, event);
    }
    case 'turnEnded':
      return turnEnded(before, event.turnId, kind.value);
    case 'decisionRequested':
      return {
        ...before,
        asked: before.asked.has(kind.value.trigger)
          ? before.asked
          : new Set(before.asked).add(kind.value.trigger),
        triggers: withFirst(before.triggers, (first) => ({ ...first, askedAt: first.askedAt ?? at })),
      };
    case 'decisionRefused':
      return {
        ...before,
        triggers: withFirst(before.triggers, (first) => ({ ...first, refusals: first.refusals + 1 })),
      };
    case 'decisionRecorded':
      return decided(before, kind.value, event);
    default:
      return before;
  }
}

function created(value: SessionCreated, at: Instant): Conversation {
  return {
    agentId: value.agentId,
    tenant: value.tenant,
    subject: value.subject,
    ancestry: value.ancestry,
    metadata: value.metadata,
    createdAt: at,
    agent: undefined,
    stateJson: '',
    stateVersion: 0,
    messages: [],
    turns: new Map(),
    queue: [],
    turn: undefined,
    triggers: [],
    interrupts: new Map(),
    asked: new Set(),
    children: new Map(),
  };
}

/** Something happened that has to be decided. */
function trigger(conversation: Conversation, cause: Cause, { sequence }: SessionEvent): Conversation {
  const pending: PendingTrigger = {
    decisionId: `decision-${sequence}`,
    cause,
    causeSequence: sequence,
    askedAt: undefined,
    refusals: 0,
  };
  return { ...conversation, triggers: [...conversation.triggers, pending] };
}

function turnStarted(before: Conversation, event: SessionEvent, at: Instant): Conversation {
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

function turnEnded(before: Conversation, turnId: string, ended: TurnEnded): Conversation {
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

function recorded(
  session: Session,
  before: Conversation,
  given: ChatMessage | undefined,
  ofCallId: string,
): Conversation {
  if (given === undefined) return before;
  const message = ofCallId === '' ? given : referred(session, before, given, ofCallId);
  const after = { ...before, messages: [...before.messages, message] };
  if (message.role !== Role.ASSISTANT) return after;
  return withTurn(after, (turn) => ({ ...turn, answerId: message.id }));
}

/** The message that a reference stands for (7.5). */
function referred(
  session: Session,
  { triggers }: Conversation,
  given: ChatMessage,
  callId: string,
): ChatMessage {
  const call = session.calls.get(callId);
  if (call?.phase.kind === 'finished') return messageOfCall(call, call.phase.end, given.id);
  for (const { cause } of triggers) {
    if (cause.kind === 'model.finished' && cause.end.callId === callId)
      return messageOfModelCall(cause.end, given.id) ?? given;
  }
  return given;
}

function modelEnded(before: Conversation, { outcome }: ModelCallFinished): Conversation {
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

function callEnded(
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

/** A decision: what it started is planned, and the next trigger may be decided. */
function decided(before: Conversation, { actions }: DecisionRecorded, event: SessionEvent): Conversation {
  const after = { ...before, triggers: before.triggers.slice(1) };
  if (before.turn === undefined) return after;
  // What `done` said holds until turn.finished is decided, unless that decision goes on.
  const goesOn =
    before.triggers[0]?.cause.kind === 'turn.finished' &&
    (actions.length > 0 || pausing(before) !== undefined);
  let turn: Turn = goesOn ? { ...before.turn, finishing: undefined } : before.turn;
  let finished = false;
  for (const { kind } of actions) {
    switch (kind.case) {
      case 'modelCall':
        turn = { ...turn, nextModelCall: kind.value, conclusion: undefined };
        break;
      case 'toolCall': {
        const { callId, name, retry } = kind.value;
        const place = { callId, messageId: messageOf(before, callId), isModels: isModels(before, callId) };
        turn = {
          ...turn,
          plan: [...turn.plan, { ...place, name, retry, spawn: undefined, state: 'planned' }],
        };
        break;
      }
      case 'subagentSpawn': {
        const { callId, agentId: name } = kind.value;
        const place = { callId, messageId: messageOf(before, callId), isModels: false };
        const spawn = kind.value;
        turn = {
          ...turn,
          plan: [...turn.plan, { ...place, name, retry: undefined, spawn, state: 'planned' }],
        };
        break;
      }
      case 'done':
        turn = {
          ...turn,
          finishing: { outputJson: kind.value.outputJson },
          model: undefined,
          plan: turn.plan.filter(({ state }) => state !== 'planned'),
        };
        finished = true;
        break;
      default:
    }
  }
  const isNew = finished && !after.triggers.some(({ cause }) => cause.kind === 'turn.finished');
  return isNew ? trigger({ ...after, turn }, { kind: 'turn.finished' }, event) : { ...after, turn };
}

/** Whether the response that is decided holds a call. */
function isModels({ triggers: [first] }: Conversation, callId: string): boolean {
  if (first?.cause.kind !== 'model.finished') return false;
  const message = messageOfModelCall(first.cause.end);
  return message !== undefined && callsIn(message).some((call) => call.callId === callId);
}

/** The newest message that holds a call. */
function messageOf({ messages }: Conversation, callId: string): string {
  return messages.findLast((message) => callsIn(message).some((call) => call.callId === callId))?.id ?? '';
}

/** A call as it stands when it is requested: its arguments are in a message, and it may have to wait. */
function requested(session: Session, { kind }: SessionEvent): Session {
  const { conversation } = session;
  const call = kind.case === 'toolCallRequested' ? session.calls.get(kind.value.callId) : undefined;
  if (conversation === undefined || call === undefined || kind.case !== 'toolCallRequested') return session;
  const { messageId, arguments: own } = kind.value;
  const text =
    own === '' && messageId !== '' ? argumentsIn(conversation.messages, messageId, call.callId) : own;
  const phase = firstPhase(session, call);
  return { ...session, calls: withCall(session.calls, { ...call, arguments: text, phase }) };
}

/** Where a call stands at first (6.2, 6.9, 6.11). */
function firstPhase(session: Session, call: Call): Call['phase'] {
  const from = call.requestedAt;
  for (const { callId, state, interruptId, reason } of session.conversation?.interrupts.values() ?? []) {
    if (callId === call.callId && state.kind === 'open') {
      return { kind: 'interrupted', interruptId, reason, from, waited: 0 };
    }
  }
  return isHeldBack(session, call) ? { kind: 'held', from } : readyPhase(call, from);
}

/** Its interrupt was answered: it may still have to wait for others, and not every call waits for a worker. */
function resumed(session: Session, callId: string, at: Instant): Session {
  const call = session.calls.get(callId);
  if (call?.phase.kind !== 'waiting' || call.leases.length > 0) return session;
  const phase: Call['phase'] = isHeldBack(session, call) ? { kind: 'held', from: at } : readyPhase(call, at);
  return { ...session, calls: withCall(session.calls, { ...call, phase }) };
}

function planned(before: Conversation, callId: string, state: PlannedCall['state']): Conversation {
  return withTurn(before, (turn) => ({
    ...turn,
    plan: turn.plan.map((each) => (each.callId === callId ? { ...each, state } : each)),
  }));
}

function withTurn(conversation: Conversation, change: (turn: Turn) => Turn): Conversation {
  return conversation.turn === undefined
    ? conversation
    : { ...conversation, turn: change(conversation.turn) };
}

function withFirst(
  triggers: readonly PendingTrigger[],
  change: (first: PendingTrigger) => PendingTrigger,
): readonly PendingTrigger[] {
  const [first, ...others] = triggers;
  return first === undefined ? triggers : [change(first), ...others];
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

function originOf({ journal }: SessionEvent): Turn['origin'] {
  return { caller: journal?.caller, traceContext: journal?.traceContext ?? {} };
}
