import type { Caller } from '../../../gen/spindle/v1/call_pb.ts';
import type { Conversation } from '../../core/loop/conversation.ts';
import { accepted, type Outcome, refused } from '../../core/refusal.ts';
import { namesAgent, seesTenant } from '../../core/rights.ts';
import { directCallOf, type Session } from '../../core/session.ts';
import type { Shared } from '../engine.ts';
import { idFault } from '../request.ts';
import type { Done, SessionRunner } from '../session-runner.ts';

/** Finds sessions that a caller may use; any other is as unknown as one that does not exist (9.3). */
export interface Opening {
  /** The runner of a session of the caller's; whoever opens it has to let it go (Sessions.hold). */
  open(caller: Caller, sessionId: string): Promise<Outcome<Opened>>;
  /** The same, also of a direct call, which is a session of its own (4.12). */
  openAny(caller: Caller, sessionId: string): Promise<Outcome<SessionRunner>>;
  /** A session for reading alone. */
  read(caller: Caller, sessionId: string): Promise<Outcome<{ session: Session; conversation: Conversation }>>;
}

export interface Opened {
  readonly runner: SessionRunner;
  readonly conversation: Conversation;
}

export function createOpening({ options, sessions }: Shared): Opening {
  const { clock, random } = options;

  /** Somebody else's session is as unknown as one that does not exist (9.3). */
  const visible = (session: Session | undefined, caller: Caller): Conversation | undefined => {
    const conversation = session?.conversation;
    if (conversation === undefined || !namesAgent(caller, conversation.agentId)) return undefined;
    return conversation.subject === caller.subject || seesTenant(caller) ? conversation : undefined;
  };

  const open: Opening['open'] = async (caller, sessionId) => {
    const fault = idFault('session_id', sessionId);
    if (fault !== undefined) return refused('invalid_request', fault);
    const key = { tenant: caller.tenant, sessionId };
    let runner = await sessions.hold(key);
    if (runner?.session.sequence === 0) {
      // It is on the way to the journal; what comes behind that in the mailbox finds it there, or refused.
      await send(runner, { kind: 'tick', at: clock.now(), draw: random.draw(), heard: runner.heard });
      sessions.letGo(runner);
      runner = await sessions.hold(key);
    }
    const conversation = visible(runner?.session, caller);
    if (runner !== undefined && conversation !== undefined) return accepted({ runner, conversation });
    if (runner !== undefined) sessions.letGo(runner);
    return sessionNotFound(sessionId);
  };

  const read: Opening['read'] = async (caller, sessionId) => {
    const fault = idFault('session_id', sessionId);
    if (fault !== undefined) return refused('invalid_request', fault);
    const session = await sessions.read({ tenant: caller.tenant, sessionId });
    const conversation = visible(session, caller);
    return session === undefined || conversation === undefined
      ? sessionNotFound(sessionId)
      : accepted({ session, conversation });
  };

  const openAny: Opening['openAny'] = async (caller, sessionId) => {
    const callId = directCallOf(sessionId);
    if (callId === undefined) {
      const found = await open(caller, sessionId);
      return found.ok ? accepted(found.value.runner) : found;
    }
    const runner = await sessions.hold({ tenant: caller.tenant, sessionId });
    const call = runner?.session.calls.get(callId);
    const isVisible = call !== undefined && (call.caller?.subject === caller.subject || seesTenant(caller));
    if (runner !== undefined && isVisible) return accepted(runner);
    if (runner !== undefined) sessions.letGo(runner);
    return sessionNotFound(sessionId);
  };

  return { open, openAny, read };
}

export function sessionNotFound(sessionId: string) {
  return refused('session_not_found', `there is no session ${JSON.stringify(sessionId)}`, {
    session_id: sessionId,
  });
}

/** @param answered is called in the same step in which the command's events take effect, or with its refusal */
export function send(
  runner: SessionRunner,
  command: Parameters<SessionRunner['send']>[0],
  answered?: () => void,
): Promise<Outcome<Done>> {
  return new Promise((resolve) =>
    runner.send(command, (outcome) => {
      answered?.();
      resolve(outcome);
    }),
  );
}
