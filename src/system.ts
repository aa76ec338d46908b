import { randomBytes } from 'node:crypto';
import { MAX_TIMER_MS, STALL_MS } from './core/limits.ts';
import type { Clock, Random } from './engine/ports.ts';

/** The clock of this machine: wall time at the start of the process, plus monotonic time since (7.2). */
export function systemClock(): Clock {
  // It never changes, and asking for it takes longer than asking for the time.
  const { timeOrigin } = performance;
  const now = (): number => timeOrigin + performance.now();
  return {
    now,
    alarm(at, ring) {
      let timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
      const arm = (): void => {
        const left = Math.max(at - now(), 0);
        timer = setTimeout(left > MAX_TIMER_MS ? arm : due, Math.min(Math.ceil(left), MAX_TIMER_MS));
        timer.unref();
      };
      // After a stall the sockets are read once first: what came in time must not be found late (5.8).
      const due = (): void => {
        if (now() - at < STALL_MS) ring();
        else timer = setImmediate(again);
      };
      const again = (): void => {
        timer = setImmediate(ring);
      };
      arm();
      return () => {
        if (timer === undefined) return;
        // Node keeps the empty list of a cleared timer until its time, unless the timer is referenced again; each
        // stream has an age of its own, so that would be a list for each connection of the last hour.
        timer.ref();
        clearTimeout(timer as NodeJS.Timeout);
        clearImmediate(timer as NodeJS.Immediate);
      };
    },
  };
}

/** Bytes drawn from the system at once: one draw for each token would cost a system call. */
const POOL_BYTES = 4_096;
const TOKEN_BYTES = 16;

export function systemRandom(): Random {
  let pool = Buffer.alloc(0);
  let used = 0;
  return {
    draw: Math.random,
    token() {
      if (used + TOKEN_BYTES > pool.length) {
        pool = randomBytes(POOL_BYTES);
        used = 0;
      }
      used += TOKEN_BYTES;
      return pool.toString('base64url', used - TOKEN_BYTES, used);
    },
  };
}
