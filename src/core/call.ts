import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { OwnTerms, ToolCallFinished } from '../../gen/spindle/v1/event_pb.ts';
import type { ToolHandler, ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import type { InterruptResumed } from '../../gen/spindle/v1/trigger_pb.ts';
import type { CancelReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Policy } from './policy.ts';
import type { Instant, Millis } from './time.ts';

/**
 * A call, as its events tell it. Invariants, which test/core/properties.test.ts checks in every state:
 *
 * 1. `attempt` is at least 1, never goes back, and never exceeds `policy.maxAttempts`.
 * 2. The phase is `dispatched` exactly when the last lease is `running`; every other lease is not.
 * 3. Once the phase is `finished` it stays so, with the same outcome.
 * 4. A lease token occurs once.
 * 5. While the phase is `open`, the last lease is `deferred`, or the call is none of a worker's.
 */
export interface Call {
  readonly callId: string;
  readonly name: string;
  /** Byte for byte (1.1). */
  readonly arguments: string;
  /** The definition in force when the call was requested; empty where nobody had declared the tool. */
  readonly toolDigest: string;
  /** The verdict under that definition. */
  readonly input: ToolInput | undefined;
  readonly policy: Policy;
  readonly safeToRepeat: boolean;
  readonly requireValidInput: boolean;
  /** Who runs it. */
  readonly handler: ToolHandler;
  /** It runs alone, in the order of the calls (6.2). */
  readonly sequential: boolean;
  /** Its result ends the turn (3.5). */
  readonly endsTurn: boolean;
  /** Set while nobody has declared the tool: its definition has a say between the deployment and the caller. */
  readonly ownTerms: OwnTerms | undefined;
  readonly caller: Caller | undefined;
  readonly traceContext: Readonly<Record<string, string>>;
  readonly requestedAt: Instant;
  /** How long the total clock has stood still so far (4.4). */
  readonly pausedFor: Millis;
  /** The attempt that waits, runs, or ran last. */
  readonly attempt: number;
  /** How often this attempt came back unstarted (4.3). */
  readonly requeues: number;
  readonly phase: Phase;
  /** Every dispatch so far, oldest first. */
  readonly leases: readonly Lease[];
  /** The last checkpoint of any attempt. */
  readonly checkpoint: Uint8Array | undefined;
  /** The answer to the interrupt that an earlier dispatch of this attempt raised. */
  readonly resumed: InterruptResumed | undefined;
  /** The interrupts that held it back so far; each id is good once. */
  readonly interruptIds: readonly string[];
}

/** What holds for a call, from every layer. */
export type Terms = Pick<Call, 'policy' | 'safeToRepeat' | 'requireValidInput'>;

/** Where a call stands. */
export type Phase =
  /** It waits for calls before it, since `from` (6.2); its clocks stand still. */
  | { readonly kind: 'held'; readonly from: Instant }
  /** It may be dispatched from `from` on; before that it backs off. Its queue clock had run for `waited` then. */
  | { readonly kind: 'waiting'; readonly from: Instant; readonly waited: Millis }
  /** A worker has it until its run clock is over. The attempt had waited for `waited` by then. */
  | {
      readonly kind: 'dispatched';
      readonly from: Instant;
      readonly until: Instant | undefined;
      readonly waited: Millis;
    }
  /** It waits for an answer from outside. */
  | { readonly kind: 'open'; readonly until: Instant | undefined }
  /** It waits for a person; its clocks stand still. */
  | {
      readonly kind: 'interrupted';
      readonly interruptId: string;
      readonly reason: string;
      readonly from: Instant;
      readonly waited: Millis;
    }
  | { readonly kind: 'finished'; readonly end: ToolCallFinished };

/** One delivery of one attempt to one worker. */
export interface Lease {
  readonly token: string;
  readonly attempt: number;
  readonly instanceId: string;
  /** The stream it is bound to: written there or never (4.3). */
  readonly streamNumber: number;
  readonly workerName: string;
  /** The definition that this worker serves, where it is not `toolDigest` of the call. */
  readonly toolDigest: string;
  /** The verdict under that definition; undefined where it is the call's own. */
  readonly input: ToolInput | undefined;
  readonly state: LeaseState;
}

export type LeaseState =
  | { readonly kind: 'running' }
  /** Its worker's answer is on record; the same again is a duplicate. */
  | { readonly kind: 'answered' }
  /** Its worker's answer left the call open; what the work came to is for somebody else to say (4.9). */
  | { readonly kind: 'deferred' }
  /** It came back unstarted. No answer is due; one that comes all the same is late. */
  | { readonly kind: 'returned' }
  /** The engine ended it. An answer that still comes is late. `stop` says what to tell the worker. */
  | { readonly kind: 'given_up'; readonly stop: CancelReason }
  /** Its late answer is on record; the same again is as late. */
  | { readonly kind: 'late' };

export function lastLease(call: Call): Lease | undefined {
  return call.leases.at(-1);
}

/** Work was handed out, to a worker, a client or a subagent, and no answer says what became of it (4.6). */
export function mayHaveTakenEffect(call: Call): boolean {
  if (call.phase.kind === 'open' && call.leases.length === 0) return true;
  return call.leases.some(({ state }) => state.kind !== 'answered' && state.kind !== 'returned');
}

/** When the total clock is over; undefined where there is none, or while it stands still. */
export function totalDeadline(call: Call): Instant | undefined {
  const { totalTimeout } = call.policy;
  if (totalTimeout === undefined || call.phase.kind === 'interrupted' || call.phase.kind === 'held') {
    return undefined;
  }
  return call.requestedAt + call.pausedFor + totalTimeout;
}

/** When the queue clock of a waiting call is over (4.4). */
export function queueDeadline(call: Call): Instant | undefined {
  const { queueTimeout } = call.policy;
  if (queueTimeout === undefined || call.phase.kind !== 'waiting') return undefined;
  return call.phase.from + Math.max(queueTimeout - call.phase.waited, 0);
}

/** The earlier of two instants, either of which may not exist. */
export function earlier(a: Instant | undefined, b: Instant | undefined): Instant | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
