import type { Call, Lease } from './call.ts';
import { type ConversationEffect, conversationEffectName, owedOfConversation } from './loop/owed.ts';
import { type Session, timeIn } from './session.ts';
import type { Instant } from './time.ts';

/**
 * What must be done now. It follows from the state alone, so a crash between an append and its effects
 * loses nothing. Doing an effect again does nothing: each has a name, and the shell knows what it has done.
 */
export type Effect =
  /** Find a worker for the call's attempt. */
  | { readonly kind: 'place'; readonly call: Call }
  /** Write the dispatch to the stream that the lease is bound to. */
  | { readonly kind: 'dispatch'; readonly call: Call; readonly lease: Lease }
  /** Tell the worker to stop a dispatch that the engine has ended. */
  | { readonly kind: 'stop'; readonly call: Call; readonly lease: Lease }
  | ConversationEffect;

export function owed(session: Session, now: Instant): Effect[] {
  const at = timeIn(session, now);
  const effects: Effect[] = [];
  for (const call of session.calls.values()) {
    if (call.phase.kind === 'waiting' && call.phase.from <= at) effects.push({ kind: 'place', call });
    for (const lease of call.leases) {
      if (lease.state.kind === 'running') effects.push({ kind: 'dispatch', call, lease });
      if (lease.state.kind === 'given_up') effects.push({ kind: 'stop', call, lease });
    }
  }
  if (session.conversation !== undefined) effects.push(...owedOfConversation(session, at));
  return effects;
}

/** The name of an effect: the same for the same effect, however often it is owed. */
export function effectName(effect: Effect): string {
  switch (effect.kind) {
    case 'place':
      return `place ${effect.call.callId} ${effect.call.attempt} ${effect.call.leases.length}`;
    case 'dispatch':
      return `dispatch ${effect.lease.token}`;
    case 'stop':
      return `stop ${effect.lease.token}`;
    default:
      return conversationEffectName(effect);
  }
}

/** Recovery loads a session that owes something: a call has not ended, a turn runs or waits, or a trigger is undecided. */
export function isUnfinished(session: Session): boolean {
  for (const call of session.calls.values()) if (call.phase.kind !== 'finished') return true;
  const { conversation } = session;
  if (conversation === undefined) return false;
  const { turn, queue, triggers } = conversation;
  return turn !== undefined || queue.length > 0 || triggers.length > 0;
}
