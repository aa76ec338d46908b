import { create } from '@bufbuild/protobuf';
import {
  AgentUpdatedSchema,
  SessionCreatedSchema,
  SubagentStartedSchema,
} from '../../../gen/spindle/v1/event_pb.ts';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { finish } from '../attempt.ts';
import type {
  AnswerModel,
  CancelTurn,
  CreateSession,
  Decide,
  EndChild,
  GiveUpDecision,
  RequestCalls,
  RequestModel,
  StartChild,
  StartTurn,
} from '../command.ts';
import type { Draft } from '../event.ts';
import { refused } from '../refusal.ts';
import { happened, NOTHING, RECORDED, type Ruling, refuse, stale, told } from '../ruling.ts';
import type { Session } from '../session.ts';
import { decideSettle } from '../settle.ts';
import { unreachable } from '../unreachable.ts';
import { giveUp, refuseDecision } from './advance.ts';
import { apply } from './apply.ts';
import { decideModelAnswer, decideModelRequest } from './model-call.ts';
import { requestCalls } from './plan.ts';
import { propose } from './propose.ts';
import { begin, type Story, tell } from './story.ts';
import { decideCancel, decideStart } from './turn.ts';

/** The commands that only a conversation knows. */
export type ConversationCommand =
  | CreateSession
  | StartTurn
  | CancelTurn
  | RequestCalls
  | RequestModel
  | AnswerModel
  | Decide
  | GiveUpDecision
  | StartChild
  | EndChild;

/** What may happen to a conversation. What follows from it by itself is added by `advance`. */
export function decideConversation(session: Session, command: ConversationCommand): Ruling {
  switch (command.kind) {
    case 'create':
      return decideCreate(session, command);
    case 'start_turn':
      return decideInput(session, command);
    case 'cancel_turn':
      return decideCancel(session, command);
    case 'request_calls':
      return told(requestCalls(session, command));
    case 'request_model':
      return decideModelRequest(session, command);
    case 'answer_model':
      return decideModelAnswer(session, command);
    case 'decide':
      return decideDecision(session, command);
    case 'give_up_decision': {
      const [trigger] = session.conversation?.triggers ?? [];
      if (trigger?.decisionId !== command.decisionId || trigger.askedAt === undefined) return NOTHING;
      return told(giveUp(begin(session, command.at), trigger, command.reason));
    }
    case 'start_child': {
      const { callId, sessionId, agentId } = command;
      const call = session.calls.get(callId);
      if (call?.phase.kind !== 'open' || session.conversation?.children.has(callId)) return NOTHING;
      const value = create(SubagentStartedSchema, { callId, sessionId, agentId });
      return happened({ kind: { case: 'subagentStarted', value } });
    }
    case 'end_child': {
      const call = session.calls.get(command.callId);
      if (call?.phase.kind !== 'open') return NOTHING;
      const end = finish(call, command.outcome, undefined, 1);
      if (end.kind.case === 'toolCallFinished' && command.usage) end.kind.value.usage = command.usage;
      return happened(end);
    }
    default:
      return unreachable(command);
  }
}

/** The same id again is the same session. */
function decideCreate(session: Session, command: CreateSession): Ruling {
  const { agentId, tenant, subject, ancestry, metadata, agent } = command;
  if (session.conversation !== undefined) {
    if (session.conversation.subject === subject && session.conversation.agentId === agentId) return NOTHING;
    const message = `the session id ${session.sessionId} names another session; use a new one`;
    return refuse(refused('session_id_conflict', message, { session_id: session.sessionId }).refusal);
  }
  const value = create(SessionCreatedSchema, {
    agentId,
    tenant,
    subject,
    ancestry: [...ancestry],
    metadata: { ...metadata },
  });
  const drafts: Draft[] = [{ kind: { case: 'sessionCreated', value } }];
  if (agent !== undefined)
    drafts.push({ kind: { case: 'agentUpdated', value: create(AgentUpdatedSchema, { agent }) } });
  return happened(...drafts);
}

/** Input settles what it settles, and starts a turn with the rest (6.9, 6.14); all of it or nothing. */
function decideInput(session: Session, command: StartTurn): Ruling {
  const { at, settlements, input } = command;
  if (session.conversation?.turns.has(command.turnId)) return NOTHING;
  let story = begin(session, at);
  for (const { callId, answer } of settlements) {
    const call = story.session.calls.get(callId);
    const ruling =
      call?.handler === ToolHandler.CLIENT
        ? decideSettle(story.session, { kind: 'settle', at, callId, attempt: 0, answer })
        : undefined;
    if (ruling?.kind === 'refused') return ruling;
    // The same result again is on record: a client that lost our reply learns that it holds.
    if (ruling === undefined || ruling.answer?.verdict === AnswerVerdict.STALE) {
      const message = `call ${callId} is not a client-side call that waits; open_items of the session lists those that do`;
      return refuse(refused('call_not_open', message, { call_id: callId }).refusal);
    }
    story = tell(story, ...ruling.drafts);
  }
  if (input === undefined) return told(story);
  const ruling = decideStart(story.session, command);
  return ruling.kind === 'refused' ? ruling : told(tell(story, ...ruling.drafts));
}

/** A decision is good for the trigger that it was asked for, while that is the first (5.13). */
function decideDecision(session: Session, command: Decide): Ruling {
  const { decisionId, decision, fault, at, workerName } = command;
  const [trigger] = session.conversation?.triggers ?? [];
  if (trigger?.decisionId !== decisionId || trigger.askedAt === undefined)
    return stale('this decision is not waited for any more');
  const begun: Story = begin(session, at);
  const refusing = (reason: string): Ruling =>
    told(refuseDecision(begun, trigger, reason), { verdict: AnswerVerdict.REFUSED, reason });
  if (fault !== undefined) return refusing(fault);
  const applied = apply(session, trigger, decision ?? propose(session, trigger), { at, workerName });
  return applied.kind === 'applied' ? told(applied.story, RECORDED) : refusing(applied.reason);
}
