import type { Call } from './call.ts';
import type { Conversation } from './loop/conversation.ts';
import type { Instant } from './time.ts';
import { VersionedMap } from './versioned-map.ts';

/** A session as its log tells it. A direct call is a session of its own (4.12). */
export interface Session {
  readonly sessionId: string;
  /** The sequence of the newest event; 0 before the first. */
  readonly sequence: number;
  /** When that event was recorded: the next one is not earlier (7.2). */
  readonly occurredAt: Instant;
  readonly calls: ReadonlyMap<string, Call>;
  /** What a session is beyond its calls; undefined for a direct call. */
  readonly conversation: Conversation | undefined;
}

export function newSession(sessionId: string): Session {
  return { sessionId, sequence: 0, occurredAt: 0, calls: NO_CALLS, conversation: undefined };
}

const NO_CALLS: Session['calls'] = new Map();

/** The calls after one of them has changed, or is new. */
export function withCall(calls: Session['calls'], call: Call): Session['calls'] {
  // A direct call is alone in its session, and a map of one is made fastest.
  const isAlone = calls.size === 0 || (calls.size === 1 && calls.has(call.callId));
  if (isAlone) return new Map<string, Call>().set(call.callId, call);
  const versions = calls instanceof VersionedMap ? calls : new VersionedMap(calls);
  return versions.with(call.callId, call);
}

/**
 * The time in a session: never before its newest event (7.2). Where the wall clock was set back between two
 * processes, the session's clocks stand still until it has caught up, and nothing waits for it meanwhile.
 */
export function timeIn(session: Session, now: Instant): Instant {
  return Math.max(now, session.occurredAt);
}

/** The session of a direct call. */
export const DIRECT_CALL_PREFIX = 'call:';

export function directCallSession(callId: string): string {
  return DIRECT_CALL_PREFIX + callId;
}

/** The call whose id a direct call's session carries; undefined for a conversation. */
export function directCallOf(sessionId: string): string | undefined {
  return sessionId.startsWith(DIRECT_CALL_PREFIX) ? sessionId.slice(DIRECT_CALL_PREFIX.length) : undefined;
}

/**
 * The token of a dispatch: a random part that nobody can guess, and the session, so that an answer finds its
 * call in the journal even when nobody remembers the dispatch. Opaque to workers.
 */
export function leaseTokenOf(random: string, sessionId: string): string {
  return `${random}/${sessionId}`;
}

/** The session that a lease token names; undefined for a text that is no token. */
export function sessionOfLease(token: string): string | undefined {
  const slash = token.indexOf('/');
  return slash < 0 ? undefined : token.slice(slash + 1);
}
