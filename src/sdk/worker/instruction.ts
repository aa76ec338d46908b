import {
  CancelReason,
  type GoAway,
  GoAwayReason,
  type ToolRefusal,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { CANCEL_GRACE_MS } from '../../core/limits.ts';
import { type Millis, millisOf } from '../../core/time.ts';
import type { StopReason } from '../context.ts';
import type { Work } from '../work.ts';
import type { WorkerStatus } from './status.ts';

/** What the driver of a protocol has to do after a step. */
export type Instruction =
  | {
      readonly kind: 'run';
      readonly leaseToken: string;
      readonly work: Work;
      readonly traceContext: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'abort';
      readonly leaseToken: string;
      readonly reason: StopReason;
      readonly graceMs: Millis;
    }
  /** Drop the stream, and open another after the usual backoff. */
  | { readonly kind: 'lost'; readonly message: string }
  /** Keep the stream for this long, or for the usual backoff where the engine names no time; then open another. */
  | { readonly kind: 'reconnect'; readonly reason: string; readonly afterMs: Millis | undefined }
  /** Keep the stream until the engine ends it, and open another then: what runs can be answered on this one alone. */
  | { readonly kind: 'outlived'; readonly reason: string }
  /** Stop for good: another stream of this process serves. */
  | { readonly kind: 'replaced' }
  | { readonly kind: 'status'; readonly status: WorkerStatus };

/** Leases that the engine gave up: their handlers stop, and still answer (5.7). */
export function abandoned(leaseTokens: readonly string[]): Instruction[] {
  return leaseTokens.map((leaseToken) => ({
    kind: 'abort',
    leaseToken,
    reason: 'abandoned',
    graceMs: CANCEL_GRACE_MS,
  }));
}

export function refusedTools(refusals: readonly ToolRefusal[]): Instruction[] {
  if (refusals.length === 0) return [];
  const tools = refusals.map(({ name, reason }) => ({ name, reason }));
  return [{ kind: 'status', status: { kind: 'tools_refused', tools } }];
}

/** After every go-away but `replaced` the worker connects again (5.3). */
export function wentAway({ reason, reconnectAfter }: GoAway): Instruction[] {
  if (reason === GoAwayReason.REPLACED) return [{ kind: 'replaced' }];
  // The engine ends the stream once everything is settled, which is sooner than any time that it could name.
  if (reason === GoAwayReason.CREDENTIAL_EXPIRED) return [{ kind: 'outlived', reason: goAwayName(reason) }];
  const afterMs = reconnectAfter === undefined ? undefined : millisOf(reconnectAfter);
  return [{ kind: 'reconnect', reason: goAwayName(reason), afterMs }];
}

function goAwayName(reason: GoAwayReason): string {
  switch (reason) {
    case GoAwayReason.SHUTDOWN:
      return 'shutdown';
    case GoAwayReason.CREDENTIAL_EXPIRED:
      return 'credential_expired';
    case GoAwayReason.SLOW_READER:
      return 'slow_reader';
    default:
      return 'max_age';
  }
}

export function stopReasonOf(reason: CancelReason): StopReason {
  switch (reason) {
    case CancelReason.DEADLINE:
      return 'deadline';
    case CancelReason.SUPERSEDED:
      return 'superseded';
    default:
      return 'cancelled';
  }
}
