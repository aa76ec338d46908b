import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import type { Cause, Conversation, PendingTrigger, Turn } from './conversation.ts';

/** Something happened that has to be decided. */
export function trigger(conversation: Conversation, cause: Cause, { sequence }: SessionEvent): Conversation {
  const pending: PendingTrigger = {
    decisionId: `decision-${sequence}`,
    cause,
    causeSequence: sequence,
    askedAt: undefined,
    refusals: 0,
  };
  return { ...conversation, triggers: [...conversation.triggers, pending] };
}

export function withFirst(
  triggers: readonly PendingTrigger[],
  change: (first: PendingTrigger) => PendingTrigger,
): readonly PendingTrigger[] {
  const [first, ...others] = triggers;
  return first === undefined ? triggers : [change(first), ...others];
}

export function withTurn(conversation: Conversation, change: (turn: Turn) => Turn): Conversation {
  return conversation.turn === undefined
    ? conversation
    : { ...conversation, turn: change(conversation.turn) };
}
