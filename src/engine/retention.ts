import {
  BLOB_COLLECTION_INTERVAL_MS,
  BLOB_GRACE_MS,
  MAX_PRUNED_SESSIONS,
  PRUNE_INTERVAL_MS,
  PRUNE_REST_FACTOR,
} from '../core/limits.ts';
import type { Instant, Millis } from '../core/time.ts';
import type { Blobs, Clock, Digest, Journal, Observer } from './ports.ts';
import type { Refuse } from './refuse.ts';

export interface RetentionOptions {
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly observer: Observer;
  /** How long a session is kept after its end (4.12). */
  readonly retainMs: Millis;
  /** A definition that the next call may name, though no session does now. */
  readonly inUse: (tenant: string, digest: Digest) => boolean;
  /** When the journal last refused an append that is tried again: what it refers to was put before. */
  readonly refusedAt: () => Instant;
  readonly refuse: Refuse;
}

/** Forgets what is old, a little at a time, while everything else goes on. */
export interface Retention {
  start(): void;
  /** Resolves when nothing of it is under way. */
  stop(): Promise<void>;
}

export function createRetention(options: RetentionOptions): Retention {
  const { journal, blobs, clock, observer, retainMs } = options;
  let stopped = false;
  let disarm = (): void => undefined;
  let wake = (): void => undefined;
  let round: Promise<void> = Promise.resolve();
  let collectAt = clock.now() + BLOB_COLLECTION_INTERVAL_MS;

  /** Leaves the journal to others for a multiple of the time that it was used. */
  const rest = (since: Instant): Promise<void> =>
    new Promise((resolve) => {
      if (stopped) return resolve();
      wake = resolve;
      const now = clock.now();
      disarm = clock.alarm(now + (now - since) * PRUNE_REST_FACTOR + 1, resolve);
    });

  const prune = async (): Promise<void> => {
    let sessions = 0;
    for (let more = true; more && !stopped; ) {
      const startedAt = clock.now();
      const pruned = await journal.prune({ endedBefore: startedAt - retainMs, limit: MAX_PRUNED_SESSIONS });
      sessions += pruned.removed.length;
      more = pruned.more;
      if (more) await rest(startedAt);
    }
    if (sessions > 0) observer.report('info', 'pruned', { sessions });
  };

  const unreferenced = (tenant: string, digests: readonly Digest[]): Promise<readonly Digest[]> =>
    journal.unreferenced(
      tenant,
      digests.filter((digest) => !options.inUse(tenant, digest)),
    );

  const collect = async (): Promise<void> => {
    const putBefore = clock.now() - BLOB_GRACE_MS;
    // An append that is refused again and again refers to blobs of any age.
    if (options.refusedAt() > putBefore) return;
    const sum = { blobs: 0, bytes: 0 };
    let startedAt = clock.now();
    for await (const step of blobs.collect({ putBefore, unreferenced })) {
      sum.blobs += step.blobs;
      sum.bytes += step.bytes;
      await rest(startedAt);
      if (stopped) break;
      startedAt = clock.now();
    }
    if (sum.blobs > 0) observer.report('info', 'blobs_collected', sum);
  };

  const runRound = async (): Promise<void> => {
    try {
      await prune();
      if (clock.now() < collectAt || stopped) return;
      collectAt = clock.now() + BLOB_COLLECTION_INTERVAL_MS;
      await collect();
    } catch (error) {
      // The next round tries again: a full disk passes, and what is damaged is for the operator to mend.
      if (options.refuse(error) === undefined)
        observer.report('error', 'retention_failed', { error: String(error) });
    }
  };

  const arm = (): void => {
    if (stopped) return;
    disarm = clock.alarm(clock.now() + PRUNE_INTERVAL_MS, () => {
      round = runRound().finally(arm);
    });
  };

  return {
    start: arm,
    async stop() {
      stopped = true;
      disarm();
      wake();
      await round;
    },
  };
}
