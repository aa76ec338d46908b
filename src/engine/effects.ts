import { lastLease } from '../core/call.ts';
import type { Effect } from '../core/owed.ts';
import { sessionOfLease } from '../core/session.ts';
import { unreachable } from '../core/unreachable.ts';
import { dispatchMessage } from './dispatch.ts';
import { idempotencyKey, type Shared } from './engine.ts';
import { placementOf, tooLarge } from './placement.ts';
import type { SessionRunner } from './session-runner.ts';

/** Does what the core says is owed. */
export interface Effects {
  perform(runner: SessionRunner, effect: Effect): void;
  /** Gives waiting calls of a tenant to workers that became free. */
  placeWaiting(tenant: string): void;
  /** The stream of a lease broke, or came back: its heartbeat clock stands still meanwhile (4.4). */
  away(tenant: string, leaseToken: string, away: boolean): void;
}

export function createEffects(shared: Shared): Effects {
  const { sessions, waiting, options } = shared;
  const { clock, workers, schemas } = options;

  /** Whether a worker took the call, or the call needs none any more. */
  const place = (runner: SessionRunner, callId: string): boolean => {
    const call = runner.session.calls.get(callId);
    if (call?.phase.kind !== 'waiting') return true;
    // An engine that stops begins nothing: its successor will.
    if (shared.stopping !== undefined) return false;
    const { tenant, sessionId } = runner.key;
    const reservation = workers.reserve(tenant, call.name, sessionId);
    if (reservation === undefined) return false;
    const at = clock.now();
    const failure = tooLarge(reservation, call);
    if (failure !== undefined) {
      workers.release(reservation.leaseToken);
      runner.send({ kind: 'disown', at, callId, failure }, () => undefined);
      return true;
    }
    const placement = placementOf(reservation, call, schemas);
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
      const { call } = effect;
      switch (effect.kind) {
        case 'place':
          if (!place(runner, call.callId)) {
            waiting.add(tenant, { sessionId, callId: call.callId, toolName: call.name, runner });
          }
          return;
        case 'dispatch': {
          const message = dispatchMessage(call, effect.lease, {
            sessionId,
            idempotencyKey: idempotencyKey(runner.key, call),
            now: clock.now(),
          });
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
          unreachable(effect);
      }
    },
    placeWaiting(tenant) {
      waiting.offer(tenant, ({ runner, callId }) => place(runner, callId));
    },
    away(tenant, leaseToken, away) {
      const sessionId = sessionOfLease(leaseToken) ?? '';
      sessions.live({ tenant, sessionId })?.heard.set(leaseToken, away ? 'away' : clock.now());
    },
  };
}
