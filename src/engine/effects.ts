import { activityName } from '../core/activity.ts';
import { type Call, lastLease } from '../core/call.ts';
import type { Effect } from '../core/owed.ts';
import { sessionOfLease, timeIn } from '../core/session.ts';
import { dispatchMessage } from './dispatch.ts';
import { idempotencyKey, type Shared } from './engine.ts';
import type { ConversationEffects } from './loop/conversation-effects.ts';
import { sessionContext } from './loop/session-context.ts';
import { placementOf, tooLarge } from './placement.ts';
import type { SessionRunner } from './session-runner.ts';
import { traceContextFor } from './trace-context.ts';

/** Does what the core says is owed. */
export interface Effects {
  perform(runner: SessionRunner, effect: Effect): void;
  /** Gives waiting calls of a tenant to workers that became free. */
  placeWaiting(tenant: string): void;
  /** The stream of a lease broke, or came back: its heartbeat clock stands still meanwhile (4.4). */
  away(tenant: string, leaseToken: string, away: boolean): void;
}

export function createEffects(shared: Shared, loop: ConversationEffects): Effects {
  const { sessions, waiting, options } = shared;
  const { clock, workers } = options;

  /** Tenants whose waiting calls are being offered, and whether a slot became free meanwhile. */
  const offering = new Map<string, boolean>();

  /** Whether a worker took the call, or the call needs none now: what is due later is owed again then. */
  const place = (runner: SessionRunner, callId: string): boolean => {
    const call = runner.session.calls.get(callId);
    const at = clock.now();
    if (call?.phase.kind !== 'waiting' || call.phase.from > timeIn(runner.session, at)) return true;
    // An engine that stops begins nothing: its successor will.
    if (shared.stopping !== undefined) return false;
    const { tenant, sessionId } = runner.key;
    const reservation =
      workers.reserve(tenant, call.name, sessionId, lastWorker(call)) ?? loop.reserveBound(runner, call);
    if (reservation === undefined) return false;
    const placement = placementOf(reservation, call, options, runner.session);
    const failure = tooLarge(reservation, call, placement);
    if (failure !== undefined) {
      workers.release(reservation.leaseToken);
      runner.send({ kind: 'disown', at, callId, failure }, () => undefined);
      return true;
    }
    runner.send({ kind: 'place', at, callId, placement }, (outcome) => {
      const placed = outcome.ok && outcome.value.session.calls.get(callId);
      // The call may have ended meanwhile, or the journal may have refused: the slot is free again.
      if (!placed || lastLease(placed)?.token !== reservation.leaseToken)
        workers.release(reservation.leaseToken);
    });
    return true;
  };

  return {
    perform(runner, effect) {
      const { tenant, sessionId } = runner.key;
      switch (effect.kind) {
        case 'place': {
          const { call } = effect;
          if (!place(runner, call.callId)) {
            waiting.add(tenant, { sessionId, callId: call.callId, toolName: call.name, runner });
          }
          return;
        }
        case 'dispatch': {
          const { call } = effect;
          const message = dispatchMessage(call, effect.lease, {
            sessionId,
            idempotencyKey: idempotencyKey(runner.key, call),
            turnId: runner.session.conversation?.turn?.turnId ?? '',
            agentId: runner.session.conversation?.agentId ?? '',
            now: clock.now(),
            // What the worker does is part of the attempt (8.1).
            traceContext: traceContextFor(
              { recorder: options.recorder, key: runner.key, session: runner.session },
              activityName.attempt(call.callId, effect.lease.attempt),
              call,
            ),
          });
          const level = workers.contextOf(effect.lease.token);
          if (level !== undefined) message.context = sessionContext(runner.session, level, clock.now());
          workers.dispatch(effect.lease.token, message);
          return;
        }
        case 'stop':
          workers.stop(
            effect.lease.token,
            effect.lease.state.kind === 'given_up' ? effect.lease.state.stop : 0,
          );
          return;
        default:
          loop.perform(runner, effect);
      }
    },
    placeWaiting(tenant) {
      // A slot that is given back during a round is offered in the next one, not in the middle of this.
      if (offering.has(tenant)) {
        offering.set(tenant, true);
        return;
      }
      do {
        offering.set(tenant, false);
        waiting.offer(tenant, ({ runner, callId }) => place(runner, callId));
      } while (offering.get(tenant) === true);
      offering.delete(tenant);
    },
    away(tenant, leaseToken, away) {
      const sessionId = sessionOfLease(leaseToken) ?? '';
      const runner = sessions.live({ tenant, sessionId });
      runner?.hear(leaseToken, away ? 'away' : timeIn(runner.session, clock.now()));
      // A clock that goes on has to be heard when it runs out.
      runner?.rearm();
    },
  };
}

/** The worker that had the call last, which knows its session (5.11); not one that gave it back. */
function lastWorker(call: Call): string | undefined {
  const lease = lastLease(call);
  return lease?.state.kind === 'returned' ? undefined : lease?.instanceId;
}
