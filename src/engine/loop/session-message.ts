import { create } from '@bufbuild/protobuf';
import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import {
  type OpenItem,
  OpenItemSchema,
  OpenReason,
  type Session as SessionMessage,
  SessionSchema,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { type Call, lastLease } from '../../core/call.ts';
import { type Conversation, pausing } from '../../core/loop/conversation.ts';
import type { Session } from '../../core/session.ts';
import { timestamp } from '../../core/time.ts';

/** A session as clients read it. */
export function sessionMessage(session: Session, conversation: Conversation): SessionMessage {
  const { agentId, agent, createdAt, metadata, turn, queue } = conversation;
  return create(SessionSchema, {
    sessionId: session.sessionId,
    agentId,
    createdAt: timestamp(createdAt),
    lastSequence: session.sequence,
    runningTurnId: turn?.turnId ?? '',
    queuedTurnIds: queue.map(({ turnId }) => turnId),
    openItems: openItems(session),
    metadata: { ...metadata },
    ...(agent && { agent }),
  });
}

/** What waits for an answer from outside: interrupts first, then calls, each in the order of the log. */
export function openItems({ conversation, calls }: Session): OpenItem[] {
  const interrupts = [...(conversation?.interrupts.values() ?? [])]
    .filter(({ state, callId }) => state.kind === 'open' && (callId === '' || calls.has(callId)))
    .map(({ interruptId, callId, payloadJson }) =>
      create(OpenItemSchema, {
        id: interruptId,
        callId,
        name: calls.get(callId)?.name ?? '',
        reason: OpenReason.INTERRUPT,
        payloadJson,
      }),
    );
  return [...interrupts, ...[...calls.values()].flatMap((call) => openCall(call) ?? [])];
}

function openCall(call: Call): OpenItem | undefined {
  const { callId, name, handler, phase } = call;
  if (phase.kind !== 'open' || handler === ToolHandler.SUBAGENT) return undefined;
  const isClients = handler === ToolHandler.CLIENT;
  return create(OpenItemSchema, {
    id: callId,
    callId,
    name,
    reason: isClients ? OpenReason.CLIENT : OpenReason.DEFERRED,
    payloadJson: isClients ? JSON.stringify({ tool: name, arguments: call.arguments }) : '',
    ...(phase.until === undefined ? {} : { deadline: timestamp(phase.until) }),
  });
}

/** A turn runs, and all that it waits for is an answer from outside. */
export function isPaused(session: Session): boolean {
  const { conversation, calls } = session;
  const turn = conversation?.turn;
  if (conversation === undefined || turn === undefined) return false;
  if (pausing(conversation) !== undefined) return true;
  if (turn.model !== undefined || conversation.triggers.length > 0) return false;
  const unended = turn.plan.filter(({ state }) => state !== 'ended');
  return unended.length > 0 && unended.every(({ callId }) => waitsOutside(calls.get(callId)));
}

function waitsOutside(call: Call | undefined): boolean {
  if (call === undefined) return false;
  if (call.phase.kind === 'interrupted' || call.phase.kind === 'held') return true;
  return call.phase.kind === 'open' && (call.handler === ToolHandler.CLIENT || lastLease(call) !== undefined);
}

/** An event as watchers get it: what only the journal needs stays there. */
export function publicEvent(event: SessionEvent): SessionEvent {
  return event.journal === undefined ? event : { ...event, journal: undefined };
}
