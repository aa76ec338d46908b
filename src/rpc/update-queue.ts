import type { CallUpdate } from '../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_QUEUED_UPDATES } from '../core/limits.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import type { CallWatcher } from '../engine/watchers.ts';
import type { Outbound } from './handlers.ts';

/** Takes a call's updates while its reader is slow, within a bound. */
export interface UpdateQueue {
  readonly watcher: CallWatcher;
  /** Writes what comes, as fast as the reader takes it, until the call has ended or nobody reads. */
  pump<O>(out: Outbound<O>, wrap: (update: CallUpdate) => O, signal: AbortSignal): Promise<Outcome<void>>;
}

export function createUpdateQueue(): UpdateQueue {
  let updates: CallUpdate[] = [];
  let end: Outcome<void> | undefined;
  let wake: () => void = () => undefined;

  const finish = (outcome: Outcome<void>): void => {
    end ??= outcome;
    wake();
  };
  const lost = (refusal: Refusal): void => finish({ ok: false, refusal });

  return {
    watcher: {
      wantsAll: true,
      update(update) {
        merge(updates, update);
        if (updates.length > MAX_QUEUED_UPDATES) {
          updates = [];
          lost(refused('overloaded', 'you read too slowly; watch the call again to go on').refusal);
        }
        if (update.kind.case === 'finished') finish(accepted(undefined));
        wake();
      },
      lost,
    },
    async pump(out, wrap, signal) {
      signal.addEventListener('abort', () => finish(accepted(undefined)), { once: true });
      if (signal.aborted) return accepted(undefined);
      for (;;) {
        const batch = updates;
        updates = [];
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

/** Reports that wait are merged field by field: only the newest value of each counts (Progress). */
export function merge(updates: CallUpdate[], update: CallUpdate): void {
  const last = updates.at(-1);
  if (last?.kind.case !== 'progress' || update.kind.case !== 'progress' || last.callId !== update.callId) {
    updates.push(update);
    return;
  }
  const older = last.kind.value;
  const newer = update.kind.value;
  const value = {
    ...older,
    completed: newer.completed ?? older.completed,
    total: newer.total ?? older.total,
    activity: newer.activity === '' ? older.activity : newer.activity,
    partial: newer.partial.length === 0 ? older.partial : newer.partial,
  };
  updates[updates.length - 1] = { ...last, kind: { case: 'progress', value } };
}
