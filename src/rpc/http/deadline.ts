import { MAX_TIMER_MS } from '../../core/limits.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/**
 * Takes a deadline beyond the longest timer off a request. Node would let such a timer fire at once, and a call
 * whose caller waits a month is as good as one whose caller waits for ever.
 */
export function dropDistantDeadline(header: Headers): void {
  const connect = Number(header.get('connect-timeout-ms') ?? 0);
  if (connect > MAX_TIMER_MS) header.delete('connect-timeout-ms');
  const [, amount, unit] = /^(\d{1,8})([HMSmun])$/.exec(header.get('grpc-timeout') ?? '') ?? [];
  if (Number(amount ?? 0) * (UNIT_MS[unit ?? ''] ?? 0) > MAX_TIMER_MS) header.delete('grpc-timeout');
}
