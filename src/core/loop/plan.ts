import type { ToolCallRequested } from '../../../gen/spindle/v1/event_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { finish } from '../attempt.ts';
import type { Call } from '../call.ts';
import type { PreparedCall, RequestCalls } from '../command.ts';
import { journalData } from '../event.ts';
import { place } from '../lease.ts';
import { policyMessage } from '../policy.ts';
import type { Session } from '../session.ts';
import { plannedCall } from './conversation.ts';
import { raise } from './interrupts.ts';
import { begin, type Story, tell } from './story.ts';

/**
 * Requests the calls that a decision started, in their order: what the engine found out about each decides whether
 * it runs, waits for others, for a worker, for a client or for a person, or is over at once (6.2, 6.7, 6.9, 6.11).
 */
export function requestCalls(session: Session, { calls, at }: RequestCalls): Story {
  return calls.reduce(requestOne, begin(session, at));
}

function requestOne(story: Story, prepared: PreparedCall): Story {
  const turn = story.session.conversation?.turn;
  const planned = plannedCall(turn, prepared.callId);
  if (turn === undefined || planned?.state !== 'planned') return story;
  const { caller, traceContext } = turn.origin;
  const journal = journalData({ caller, traceContext: { ...traceContext } });
  const value: ToolCallRequested = {
    $typeName: 'spindle.v1.ToolCallRequested',
    callId: prepared.callId,
    toolDigest: prepared.toolDigest,
    name: prepared.name,
    arguments: prepared.arguments ?? '',
    input: prepared.input,
    policy: policyMessage(prepared.policy),
    handler: prepared.handler,
    safeToRepeat: prepared.safeToRepeat,
    requireValidInput: prepared.requireValidInput,
    ownTerms: undefined,
    messageId: planned.messageId,
    sequential: prepared.sequential,
    endsTurn: prepared.endsTurn,
  };
  const requested = tell(story, { kind: { case: 'toolCallRequested', value }, journal });
  const call = requested.session.calls.get(prepared.callId);
  if (call === undefined) return requested;
  if (prepared.outcome !== undefined) return tell(requested, finish(call, prepared.outcome, undefined, 0));
  // Where no worker answers, the error about the arguments applies at once (1.2).
  const mustMatch = prepared.requireValidInput || prepared.handler !== ToolHandler.WORKER;
  if (prepared.inputFailure !== undefined && mustMatch)
    return tell(requested, finish(call, { error: prepared.inputFailure }, undefined, 0));
  if (prepared.approval !== undefined && call.phase.kind !== 'interrupted') {
    return raise(requested, prepared.approval);
  }
  return dispatched(requested, call, prepared);
}

function dispatched(story: Story, call: Call, { placement }: PreparedCall): Story {
  if (placement === undefined || call.phase.kind !== 'waiting') return story;
  return tell(story, place(call, placement, story.at));
}
