import { RECONNECT_MAX_MS } from '../../core/limits.ts';
import type { Instant, Millis } from '../../core/time.ts';
import { createBackoff } from '../backoff.ts';
import type { SdkClock, SdkRandom } from '../ports.ts';
import { SpindleError, type StatusName, statusCode } from '../spindle-error.ts';

export interface PatienceOptions {
  readonly clock: SdkClock;
  readonly random: SdkRandom;
  /** How long the engine may be out of reach. */
  readonly unavailableAfterMs: Millis;
}

/** Waits between tries, for as long as an engine may be out of reach. */
export interface Patience {
  /** Something was heard: what comes next is another outage. */
  heard(): void;
  /** Waits before the next try. Rejects with the reason of the signal, and once it has taken too long. */
  wait(error: SpindleError, signal: AbortSignal | undefined): Promise<void>;
}

export function createPatience({ clock, random, unavailableAfterMs }: PatienceOptions): Patience {
  const backoff = createBackoff(random.draw);
  let since: Instant | undefined;
  return {
    heard() {
      since = undefined;
      backoff.reset();
    },
    async wait(error, signal) {
      const now = clock.now();
      since ??= now;
      const at = now + Math.min(backoff.next(), RECONNECT_MAX_MS);
      if (at - since >= unavailableAfterMs) {
        throw new SpindleError(
          `the engine is out of reach (${error.message}); what was started may go on: ask for it by its id`,
          { code: statusCode('UNAVAILABLE') },
          { cause: error },
        );
      }
      await sleep(at, clock, signal);
    },
  };
}

function sleep(at: Instant, clock: SdkClock, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      disarm();
      reject(signal?.reason);
    };
    const disarm = clock.alarm(at, () => {
      signal?.removeEventListener('abort', stop);
      resolve();
    });
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Statuses of a connection and of an engine that goes away. */
const PASSING: ReadonlySet<StatusName> = new Set([
  'UNAVAILABLE',
  'UNKNOWN',
  'INTERNAL',
  'CANCELLED',
  'DEADLINE_EXCEEDED',
  'ABORTED',
]);

/** Another try may get through: the connection broke, or the engine says that this will pass. */
export function mayPass(error: unknown): error is SpindleError {
  if (!(error instanceof SpindleError) || error.reason === 'client_closed') return false;
  // An engine that gives a reason has looked at the request, and its word is UNAVAILABLE where trying again helps.
  const isTransport = error.reason === error.code.toLowerCase();
  return error.code === 'UNAVAILABLE' || (isTransport && PASSING.has(error.code));
}

/** A limit of the engine is reached, which may pass. */
export function isOverloaded(error: unknown): error is SpindleError {
  return error instanceof SpindleError && error.reason === 'overloaded';
}
