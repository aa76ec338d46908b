import type { ToolCallRequested } from '../../gen/spindle/v1/event_pb.ts';
import { ToolHandler } from '../../gen/spindle/v1/tool_pb.ts';
import { finish } from './attempt.ts';
import type { Call } from './call.ts';
import type { RequestCall } from './command.ts';
import { journalData } from './event.ts';
import { requestedCall } from './evolve.ts';
import { place } from './lease.ts';
import { policyMessage } from './policy.ts';
import { refused } from './refusal.ts';
import { happened, NOTHING, type Ruling, refuse } from './ruling.ts';
import type { Session } from './session.ts';

/**
 * A call is requested and, with a free worker, dispatched in the same append. What cannot run ends in it as
 * well. The same id again joins the call that is there, if it is the same call (4.12).
 */
export function decideRequest(session: Session, command: RequestCall): Ruling {
  const existing = session.calls.get(command.callId);
  if (existing !== undefined) return isSame(existing, command) ? NOTHING : conflict(command);
  const { caller, traceContext } = command;
  const journal = journalData({ caller, traceContext: { ...traceContext } });
  const value: ToolCallRequested = {
    $typeName: 'spindle.v1.ToolCallRequested',
    callId: command.callId,
    toolDigest: command.toolDigest,
    name: command.name,
    arguments: command.arguments,
    input: command.input,
    policy: policyMessage(command.policy),
    handler: ToolHandler.WORKER,
    safeToRepeat: command.safeToRepeat,
    requireValidInput: command.requireValidInput,
    ownTerms: command.ownTerms,
    messageId: '',
    sequential: false,
    endsTurn: false,
  };
  const call = requestedCall(value, journal, command.at);
  const requested = { kind: { case: 'toolCallRequested', value }, journal } as const;
  if (command.unservable !== undefined)
    return happened(requested, finish(call, { error: command.unservable }));
  if (command.inputFailure !== undefined && command.requireValidInput) {
    return happened(requested, finish(call, { error: command.inputFailure }));
  }
  if (command.placement === undefined) return happened(requested);
  return happened(requested, place(call, command.placement, command.at));
}

function isSame(call: Call, command: RequestCall): boolean {
  return (
    call.name === command.name &&
    call.arguments === command.arguments &&
    call.caller?.subject === command.caller.subject
  );
}

function conflict({ callId }: RequestCall): Ruling {
  const message = `the call id ${callId} names a call of another tool or with other arguments; use a new id`;
  return refuse(refused('call_id_conflict', message, { call_id: callId }).refusal);
}
