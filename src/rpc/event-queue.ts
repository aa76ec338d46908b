import { create } from '@bufbuild/protobuf';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { Delta } from '../../gen/spindle/v1/message_pb.ts';
import { type SessionUpdate, SessionUpdateSchema } from '../../gen/spindle/v1/session_service_pb.ts';
import { MAX_QUEUED_UPDATES } from '../core/limits.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import type { Session } from '../core/session.ts';
import type { SessionFollower } from '../engine/watchers.ts';
import type { Outbound } from './handlers.ts';

export interface EventQueueOptions {
  /** Which events are written. */
  readonly wants: (event: SessionEvent) => boolean;
  readonly wantsDeltas: boolean;
  /** Whether the stream ends behind these events: nothing follows that its reader waits for. */
  readonly isLast: (events: readonly SessionEvent[], session: Session) => boolean;
}

/** Takes what a session does while its reader is slow, within a bound. */
export interface EventQueue {
  readonly follower: SessionFollower;
  /** Nothing follows what has come. */
  end(): void;
  /** Writes what comes, as fast as the reader takes it, until the last, or until nobody reads. */
  pump<O>(out: Outbound<O>, wrap: (update: SessionUpdate) => O, signal: AbortSignal): Promise<Outcome<void>>;
}

export function createEventQueue({ wants, wantsDeltas, isLast }: EventQueueOptions): EventQueue {
  let updates: SessionUpdate[] = [];
  let end: Outcome<void> | undefined;
  let wake: () => void = () => undefined;
  let drained: (() => void) | undefined;

  const finish = (outcome: Outcome<void>): void => {
    end ??= outcome;
    wake();
    drained?.();
  };
  const lost = (refusal: Refusal): void => finish({ ok: false, refusal });

  return {
    follower: {
      events(events, session) {
        for (const event of events) {
          if (wants(event))
            updates.push(create(SessionUpdateSchema, { kind: { case: 'event', value: event } }));
        }
        if (updates.length > MAX_QUEUED_UPDATES) {
          updates = [];
          lost(
            refused('overloaded', 'you read too slowly; watch the session again from the last event').refusal,
          );
        } else if (isLast(events, session)) finish(accepted(undefined));
        wake();
      },
      delta(delta) {
        // Deltas are not kept: what does not fit is left out, and the event brings all of it.
        if (!wantsDeltas || updates.length >= MAX_QUEUED_UPDATES / 2) return;
        join(updates, delta);
        wake();
      },
      async room() {
        while (updates.length >= MAX_QUEUED_UPDATES / 2 && end === undefined) {
          const next = Promise.withResolvers<void>();
          drained = next.resolve;
          await next.promise;
        }
      },
      lost,
    },
    end: () => finish(accepted(undefined)),
    async pump(out, wrap, signal) {
      signal.addEventListener('abort', () => finish(accepted(undefined)), { once: true });
      if (signal.aborted) return accepted(undefined);
      for (;;) {
        const batch = updates;
        updates = [];
        drained?.();
        for (const update of batch) await out.write(wrap(update));
        if (updates.length > 0) continue;
        if (end !== undefined) return end;
        const next = Promise.withResolvers<void>();
        wake = next.resolve;
        await next.promise;
      }
    },
  };
}

/** Text that follows text of the same call is one delta for a reader who is behind. */
function join(updates: SessionUpdate[], delta: Delta): void {
  const last = updates.at(-1)?.kind;
  const older = last?.case === 'delta' ? last.value : undefined;
  const { kind, callId } = delta;
  const isSame = older?.callId === callId && older.kind.case === kind.case;
  if (isSame && kind.case === 'text' && older.kind.case === 'text') {
    updates[updates.length - 1] = deltaUpdate({
      ...older,
      kind: { case: 'text', value: older.kind.value + kind.value },
    });
  } else if (isSame && kind.case === 'reasoning' && older.kind.case === 'reasoning') {
    updates[updates.length - 1] = deltaUpdate({
      ...older,
      kind: { case: 'reasoning', value: older.kind.value + kind.value },
    });
  } else updates.push(deltaUpdate(delta));
}

function deltaUpdate(value: Delta): SessionUpdate {
  return create(SessionUpdateSchema, { kind: { case: 'delta', value } });
}
