import { create } from '@bufbuild/protobuf';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import {
  CancelTurnResponseSchema,
  CreateSessionResponseSchema,
  DeleteSessionResponseSchema,
  GetSessionResponseSchema,
  ResumeInterruptResponseSchema,
  RunTurnResponseSchema,
  SessionService,
  StartTurnResponseSchema,
  WatchSessionResponseSchema,
} from '../../gen/spindle/v1/session_service_pb.ts';
import { accepted, refused } from '../core/refusal.ts';
import type { Session } from '../core/session.ts';
import type { Engine } from '../engine/engine.ts';
import { isPaused } from '../engine/loop/session-message.ts';
import { createEventQueue } from './event-queue.ts';
import { type Service, service } from './service.ts';

/** Conversations (SessionService). */
export function sessionService({ conversations }: Engine): Service {
  return service(
    SessionService,
    {
      async createSession(request, { caller }) {
        const session = await conversations.create(caller, request);
        return session.ok
          ? accepted(create(CreateSessionResponseSchema, { session: session.value }))
          : session;
      },

      async getSession({ sessionId, includeMessages }, { caller }) {
        const found = await conversations.get(caller, sessionId);
        if (!found.ok) return found;
        const { session, messages, stateJson } = found.value;
        return accepted(
          create(GetSessionResponseSchema, {
            session,
            stateJson,
            messages: includeMessages ? [...messages] : [],
          }),
        );
      },

      listSessions: (request, { caller }) => conversations.list(caller, request),

      async startTurn(request, { caller, traceContext }) {
        const started = await conversations.startTurn(caller, { request, traceContext });
        return started.ok ? accepted(create(StartTurnResponseSchema, started.value)) : started;
      },

      async runTurn({ turn }, out, { caller, signal, traceContext }) {
        if (turn === undefined) return NO_TURN;
        const started = await conversations.startTurn(caller, { request: turn, traceContext });
        if (!started.ok) return started;
        const { turnId, afterSequence, existing, turnAfterSequence } = started.value;
        // A turn that somebody asks for again is told from its start; one that got results goes on from them.
        const isRepeat = existing && turn.turnId === turnId;
        const queue = createEventQueue({
          wants: (event) => event.turnId === turnId,
          wantsDeltas: true,
          isLast: (events, session) => isTurnOver(turnId, events, session),
        });
        const from = isRepeat ? turnAfterSequence : afterSequence;
        const following = await conversations.follow(caller, turn.sessionId, from, queue.follower);
        if (!following.ok) return following;
        const outcome = await queue.pump(out, (update) => create(RunTurnResponseSchema, { update }), signal);
        following.value();
        return outcome;
      },

      async watchSession({ sessionId, afterSequence, includeDeltas, recordedOnly }, out, { caller, signal }) {
        const queue = createEventQueue({
          wants: () => true,
          wantsDeltas: includeDeltas,
          isLast: () => false,
        });
        // Written while the log is read, which may hold more than what waits for a reader.
        const pumping = queue.pump(out, (update) => create(WatchSessionResponseSchema, { update }), signal);
        const following = await conversations.follow(caller, sessionId, afterSequence, queue.follower);
        if (!following.ok || recordedOnly) queue.end();
        const outcome = await pumping;
        if (!following.ok) return following;
        following.value();
        return outcome;
      },

      getTurn: ({ sessionId, turnId }, { caller }) => conversations.turn(caller, sessionId, turnId),

      async resumeInterrupt(request, { caller }) {
        const resumed = await conversations.resume(caller, request);
        return resumed.ok
          ? accepted(create(ResumeInterruptResponseSchema, { alreadyResumed: resumed.value }))
          : resumed;
      },

      async cancelTurn({ sessionId, turnId, reason }, { caller }) {
        const cancelled = await conversations.cancelTurn(caller, sessionId, turnId, reason);
        return cancelled.ok
          ? accepted(create(CancelTurnResponseSchema, { turnId: cancelled.value }))
          : cancelled;
      },

      async deleteSession({ sessionId }, { caller }) {
        const removed = await conversations.remove(caller, sessionId);
        return removed.ok ? accepted(create(DeleteSessionResponseSchema)) : removed;
      },
    },
    { http: true },
  );
}

const NO_TURN = refused('invalid_request', 'turn is missing');

/** The turn has ended, or all that it waits for is an answer from outside. */
function isTurnOver(turnId: string, events: readonly SessionEvent[], session: Session): boolean {
  if (events.some((event) => event.turnId === turnId && event.kind.case === 'turnEnded')) return true;
  // Events that are read from the log are older than the session: it may have been resumed since.
  const isNewest = events.at(-1)?.sequence === session.sequence;
  return isNewest && session.conversation?.turn?.turnId === turnId && isPaused(session);
}
