import type { SessionCreated, SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { policyOf } from '../policy.ts';
import type { Session } from '../session.ts';
import { type Instant, millisOf } from '../time.ts';
import type { Conversation, Interrupt } from './conversation.ts';
import { requested, resumed } from './evolve-calls.ts';
import { decided } from './evolve-decision.ts';
import { callEnded, modelEnded, originOf, planned, turnEnded, turnStarted } from './evolve-turn.ts';
import { messageOfCall, messageOfModelCall } from './messages.ts';
import { released } from './order.ts';
import { trigger, withFirst, withTurn } from './pending-triggers.ts';
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
