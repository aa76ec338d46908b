import type { Welcome } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { HEARTBEAT_INTERVAL_MS, SILENCE_TIMEOUT_MS } from '../../core/limits.ts';
import { type Instant, type Millis, millisOf } from '../../core/time.ts';

/** When a stream has to speak, and when it has been silent for too long (5.3). */
export interface Liveness {
  /** A stream begins. Until the welcome only silence counts. */
  opened(now: Instant): void;
  /** The welcome says how often; unset there means the defaults. */
  welcomed(welcome: Welcome): void;
  heard(now: Instant): void;
  beat(now: Instant): void;
  beatDue(now: Instant): boolean;
  /** How long the engine has been silent, once that is too long. */
  tooSilent(now: Instant): Millis | undefined;
  /** The next instant at which one of the two may come true. */
  wakeup(): Instant;
}

export function createLiveness(): Liveness {
  let intervalMs: Millis = HEARTBEAT_INTERVAL_MS;
  let silenceMs: Millis = SILENCE_TIMEOUT_MS;
  let heardAt: Instant = 0;
  let beatAt: Instant = Number.POSITIVE_INFINITY;

  return {
    opened(now) {
      heardAt = now;
      beatAt = Number.POSITIVE_INFINITY;
    },
    welcomed({ heartbeatInterval, silenceTimeout }) {
      intervalMs = heartbeatInterval === undefined ? HEARTBEAT_INTERVAL_MS : millisOf(heartbeatInterval);
      silenceMs = silenceTimeout === undefined ? SILENCE_TIMEOUT_MS : millisOf(silenceTimeout);
    },
    heard(now) {
      heardAt = now;
    },
    beat(now) {
      beatAt = now + intervalMs;
    },
    beatDue: (now) => now >= beatAt,
    tooSilent: (now) => (now >= heardAt + silenceMs ? now - heardAt : undefined),
    wakeup: () => Math.min(heardAt + silenceMs, beatAt),
  };
}
