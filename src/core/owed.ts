import type { Call, Lease } from './call.ts';
import { type Session, timeIn } from './session.ts';
import type { Instant } from './time.ts';
import { unreachable } from './unreachable.ts';

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
  | { readonly kind: 'stop'; readonly call: Call; readonly lease: Lease };

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
      return unreachable(effect);
  }
}

/** Recovery loads a session that owes something: it has a call that has not ended. */
export function isUnfinished(session: Session): boolean {
  for (const call of session.calls.values()) if (call.phase.kind !== 'finished') return true;
  return false;
}
