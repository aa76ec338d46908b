import { MAX_TIMER_MS } from '../core/limits.ts';
import type { SdkClock, SdkRandom } from './ports.ts';

/** Wall time at the start of the process plus monotonic time since: it never goes back. */
export const processClock: SdkClock = {
  now: () => performance.timeOrigin + performance.now(),
  alarm(at, ring) {
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const leftMs = at - processClock.now();
      // Rounded up: a timer that fires a fraction early would find nothing due and be armed again.
      timer = setTimeout(
        leftMs > MAX_TIMER_MS ? arm : ring,
        Math.min(Math.max(0, Math.ceil(leftMs)), MAX_TIMER_MS),
      );
    };
    arm();
    return () => clearTimeout(timer);
  },
};

export const processRandom: SdkRandom = {
  draw: Math.random,
  // The global loads with its first use; an import of node:crypto would cost every start of a process.
  token: () => Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url'),
};

/** After the current turn of the event loop: everything that its sockets brought has then been handled. */
export const processSoon = (run: () => void): void => {
  setImmediate(run);
};
