import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import type { Call } from '../call.ts';
import type { Session } from '../session.ts';
import type { Instant } from '../time.ts';
import { unreachable } from '../unreachable.ts';
import { type ModelCallInFlight, type PendingTrigger, type PlannedCall, pausing } from './conversation.ts';
import { modelCallOf } from './model-call.ts';

/** What must be done for a conversation, beside its calls. */
export type ConversationEffect =
  /** Ask a worker for a decision. */
  | { readonly kind: 'ask'; readonly trigger: PendingTrigger }
  /** Assemble the tools of an iteration, and request its model call. */
  | { readonly kind: 'assemble'; readonly turnId: string; readonly iteration: number }
  /** Make an attempt of a model call. */
  | { readonly kind: 'model'; readonly call: ModelCallInFlight }
  /** Find and check the calls that a decision started. */
  | { readonly kind: 'prepare'; readonly planned: readonly PlannedCall[] }
  /** Start the child session of a call, or follow the one that there is. */
  | { readonly kind: 'child'; readonly call: Call };

export function owedOfConversation(session: Session, at: Instant): ConversationEffect[] {
  const { conversation, calls } = session;
  if (conversation === undefined) return [];
  const effects: ConversationEffect[] = [];
  const [trigger] = conversation.triggers;
  if (trigger?.askedAt !== undefined && pausing(conversation) === undefined)
    effects.push({ kind: 'ask', trigger });
  const { turn } = conversation;
  if (turn === undefined) return effects;
  if (turn.model?.kind === 'due') {
    effects.push({ kind: 'assemble', turnId: turn.turnId, iteration: turn.model.iteration });
  }
  const model = modelCallOf(session);
  if (model !== undefined && model.from <= at) effects.push({ kind: 'model', call: model });
  const planned = turn.plan.filter(({ state }) => state === 'planned');
  if (planned.length > 0) effects.push({ kind: 'prepare', planned });
  for (const { callId } of turn.plan) {
    const call = calls.get(callId);
    if (call?.handler === ToolHandler.SUBAGENT && call.phase.kind === 'open')
      effects.push({ kind: 'child', call });
  }
  return effects;
}

export function conversationEffectName(effect: ConversationEffect): string {
  switch (effect.kind) {
    case 'ask':
      return `ask ${effect.trigger.decisionId} ${effect.trigger.refusals}`;
    case 'assemble':
      return `assemble ${effect.turnId} ${effect.iteration}`;
    case 'model':
      return `model ${effect.call.callId} ${effect.call.attempt}`;
    case 'prepare':
      return `prepare ${effect.planned.map(({ callId }) => callId).join(' ')}`;
    case 'child':
      return `child ${effect.call.callId}`;
    default:
      return unreachable(effect);
  }
}
