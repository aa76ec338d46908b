import { create } from '@bufbuild/protobuf';
import type { InterruptAction } from '../../../gen/spindle/v1/action_pb.ts';
import { InterruptRaisedSchema, ToolCallRequeuedSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { InterruptResumedSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { afterDispatch, finish } from '../attempt.ts';
import type { ResumeInterrupt } from '../command.ts';
import type { Draft } from '../event.ts';
import { refused } from '../refusal.ts';
import { happened, NOTHING, type Ruling, refuse } from '../ruling.ts';
import type { Session } from '../session.ts';
import { type Story, tell } from './story.ts';

/** Raises an interrupt that a decision asks for, under an id of its own. */
export function raise(story: Story, { interruptId, callId, reason, payloadJson }: InterruptAction): Story {
  const id = ownInterruptId(story.session, interruptId);
  const value = create(InterruptRaisedSchema, { interruptId: id, callId, reason, payloadJson });
  return tell(story, { kind: { case: 'interruptRaised', value } });
}

/**
 * The answer to an interrupt (6.11), once. Where a handler raised it, the same attempt runs again, or the call is
 * denied; any other answer is decided.
 */
export function decideResume(session: Session, command: ResumeInterrupt): Ruling {
  const { interruptId, payloadJson, denyReason } = command;
  const waiting = interruptOf(session, interruptId);
  if (waiting === undefined) {
    const message = `there is no interrupt ${interruptId} in this session; open_items lists those that wait`;
    return refuse(refused('interrupt_not_found', message, { interrupt_id: interruptId }).refusal);
  }
  if (!waiting.isOpen) return NOTHING;
  const { callId } = waiting;
  const value = create(InterruptResumedSchema, {
    interruptId,
    callId,
    payloadJson,
    ...(denyReason === undefined ? {} : { denyReason }),
  });
  const answered: Draft = { kind: { case: 'interruptResumed', value } };
  const call = session.calls.get(callId);
  if (callId !== '' && call?.phase.kind !== 'interrupted') {
    const message = `the call of interrupt ${interruptId} is about to be requested; try again`;
    return refuse(refused('overloaded', message).refusal);
  }
  if (call === undefined || !waiting.raisedByHandler) return happened(answered);
  if (denyReason !== undefined) {
    const text = denyReason === '' ? `${call.name} was denied.` : denyReason;
    return happened(answered, finish(call, { error: afterDispatch(call, 'denied', text) }));
  }
  const again = create(ToolCallRequeuedSchema, { callId, attempt: call.attempt, reason: 'resumed' });
  return happened(answered, { kind: { case: 'toolCallRequeued', value: again } });
}

interface Waiting {
  readonly callId: string;
  readonly isOpen: boolean;
  readonly raisedByHandler: boolean;
}

function interruptOf({ conversation, calls }: Session, interruptId: string): Waiting | undefined {
  if (conversation !== undefined) {
    const found = conversation.interrupts.get(interruptId);
    return found && { ...found, isOpen: found.state.kind === 'open' };
  }
  for (const { callId, phase, interruptIds } of calls.values()) {
    if (!interruptIds.includes(interruptId)) continue;
    const isOpen = phase.kind === 'interrupted' && phase.interruptId === interruptId;
    return { callId, isOpen, raisedByHandler: true };
  }
  return undefined;
}

/** A worker may name its interrupts as it likes, also twice alike; an answer must find the one that it is for. */
export function ownInterruptId({ conversation, calls, sequence }: Session, given: string): string {
  const isUsed = (id: string): boolean =>
    conversation?.interrupts.has(id) ??
    [...calls.values()].some(({ interruptIds }) => interruptIds.includes(id));
  if (given !== '' && !isUsed(given)) return given;
  let own = `interrupt-${sequence + 1}`;
  while (isUsed(own)) own = `${own}.1`;
  return own;
}
