import type { Instant } from '../core/time.ts';
import type { Clock, Lifetime } from '../engine/ports.ts';

/** A lifetime, and the way to end it before its time. */
export interface EndableLifetime extends Lifetime {
  end(): void;
}

export function createLifetime(clock: Clock, expiresAt: Instant | undefined): EndableLifetime {
  const waiting = new Set<() => void>();
  let revoked = false;
  let disarm: (() => void) | undefined;

  const tell = (): void => {
    disarm?.();
    disarm = undefined;
    const told = [...waiting];
    waiting.clear();
    for (const ended of told) ended();
  };
  const isOver = (): boolean => revoked || (expiresAt !== undefined && clock.now() >= expiresAt);
  /** One alarm for all its streams, and none while there is no stream. */
  const arm = (): void => {
    if (expiresAt !== undefined && disarm === undefined) disarm = clock.alarm(expiresAt, tell);
  };
  return {
    get over() {
      return isOver();
    },
    whenOver(ended) {
      waiting.add(ended);
      // Not within this call: whoever waits is not ready to be ended before it has the way to stop waiting.
      if (isOver()) queueMicrotask(tell);
      else arm();
      return () => {
        waiting.delete(ended);
        if (waiting.size > 0) return;
        disarm?.();
        disarm = undefined;
      };
    },
    end() {
      revoked = true;
      tell();
    },
  };
}
