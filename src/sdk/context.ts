import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Millis } from '../core/time.ts';
import type { Block } from './block.ts';
import type { JsonValue } from './json.ts';

/** One way in which the arguments do not match. Holds none of their values (1.9). */
export type Violation = {
  /** JSON Pointer to the offending value; empty for the root. */
  readonly instancePath: string;
  /** The schema keyword that failed. */
  readonly keyword: string;
  /** What is wrong, in one sentence. */
  readonly message: string;
};

/** What the engine found when it checked the arguments (1.2). */
export type InputVerdict =
  /** They match. `repairs` names what made them JSON (1.7); empty where they were it as they came. */
  | { readonly status: 'valid'; readonly repairs: readonly string[] }
  /** A JSON object that does not match. */
  | {
      readonly status: 'invalid';
      readonly repairs: readonly string[];
      readonly violations: readonly Violation[];
    }
  /** Not a JSON object. */
  | { readonly status: 'malformed'; readonly error: string };

/** What a handler reports while it runs. Lossy: reports of one tick are merged, the newest of each field. */
export interface ProgressReport {
  /** What is done, of `total` if that is known. It never goes back. */
  readonly completed?: number;
  readonly total?: number;
  /** A short label of what is going on (6.13). */
  readonly activity?: string;
  /** Partial output, for whoever watches the call. */
  readonly partial?: readonly Block[];
  /** Kept durably, at most one a second and 64 KiB, and handed to the next attempt if this one is lost. */
  readonly checkpoint?: Uint8Array;
}

/** Why a handler's signal was aborted. */
export type StopReason =
  /** Somebody cancelled the call or its turn. */
  | 'cancelled'
  /** The attempt's or the call's time is over. */
  | 'deadline'
  /** Another dispatch or answer took this one's place. */
  | 'superseded'
  /** The engine gave the dispatch up while the worker was away. */
  | 'abandoned'
  /** The worker's drain is over, and the handler still ran (5.9). */
  | 'shutdown';

/** The `reason` of an aborted signal, and so what `signal.throwIfAborted()` throws. */
export class CallStopped extends Error {
  // The name that the platform gives to what an aborted operation throws.
  override readonly name = 'AbortError';
  readonly reason: StopReason;
  /** How long the handler has to stop. */
  readonly graceMs: Millis;

  constructor(reason: StopReason, graceMs: Millis) {
    super(`the call was stopped: ${reason}`);
    this.reason = reason;
    this.graceMs = graceMs;
  }
}

// Registered, so that two copies of this package in one process know each other's markers.
const DEFERRAL = Symbol.for('spindle.deferral');
const INTERRUPTION = Symbol.for('spindle.interruption');

export interface DeferOptions {
  /** How long the call may stay open, within its total timeout. Until that where it is not given. */
  readonly timeoutMs?: Millis;
}

/** Returned by a handler, it leaves the call open (4.9). */
export interface Deferral extends DeferOptions {
  readonly [DEFERRAL]: true;
}

export interface InterruptOptions {
  /** Why, for people and programs: confirm, say. */
  readonly reason: string;
  /** What the person needs to see. */
  readonly payload?: JsonValue;
  /** Names the interrupt. The engine makes a name where there is none. */
  readonly interruptId?: string;
}

/** Returned by a handler, it makes the call wait for a person (6.11). */
export interface Interruption extends InterruptOptions {
  readonly [INTERRUPTION]: true;
}

export function deferral(options: DeferOptions = {}): Deferral {
  return { ...options, [DEFERRAL]: true };
}

export function interruption(options: InterruptOptions): Interruption {
  return { ...options, [INTERRUPTION]: true };
}

export function isDeferral(value: unknown): value is Deferral {
  return typeof value === 'object' && value !== null && DEFERRAL in value;
}

export function isInterruption(value: unknown): value is Interruption {
  return typeof value === 'object' && value !== null && INTERRUPTION in value;
}

/** What a handler knows about its call, and what it can do beside answering. */
export interface ToolContext {
  readonly callId: string;
  readonly toolName: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** The same for every attempt and delivery of the call: hand it to systems that deduplicate (4.7). */
  readonly idempotencyKey: string;
  /** The arguments byte for byte as the caller wrote them: integers above 2^53 are whole in here (1.1). */
  readonly rawArguments: string;
  /** The JSON text of their value: the arguments as they came, or what a repair made of them (1.7). */
  readonly argumentsJson: string;
  readonly input: InputVerdict;
  /**
   * Aborted when the handler should stop; its `reason` is a CallStopped. The attempt ends with whatever the
   * handler then returns or throws; what `signal.throwIfAborted()` throws ends it as cancelled.
   */
  readonly signal: AbortSignal;
  /** When the attempt expires, by this process's clock; undefined where it has no bound. */
  readonly deadline: Date | undefined;
  /** What is left until then, counted down from what the engine said; Infinity where it has no bound. */
  timeRemaining(): Millis;
  /** Reports on the call. Throws for a checkpoint of more than 64 KiB, and for what is no block. */
  progress(report: ProgressReport): void;
  /** The last checkpoint that an earlier attempt reported. */
  readonly checkpoint: Uint8Array | undefined;
  /** Return this to leave the call open for `client.settle` (4.9). It frees this worker's slot. */
  defer(options?: DeferOptions): Deferral;
  /** Return this to wait for a person (6.11). The call is dispatched again, with `resumed`. */
  interrupt(options: InterruptOptions): Interruption;
  /** The answer to the interrupt that an earlier dispatch of this attempt raised. */
  readonly resumed: { readonly interruptId: string; readonly payload: JsonValue | undefined } | undefined;
  /** Who made the call, as the engine authenticated it. */
  readonly caller: Caller | undefined;
  /** For a direct call `call:` and the call's id. */
  readonly sessionId: string;
  /** Empty for a direct call. */
  readonly turnId: string;
  /** Empty for a direct call. */
  readonly agentId: string;
  /** W3C trace context: traceparent, tracestate, baggage. */
  readonly traceContext: Readonly<Record<string, string>>;
}
