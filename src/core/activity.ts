import type { Instant } from './time.ts';

/**
 * Names what lasts in a session, and becomes a span (8.1): a turn, an iteration, a model call, a call, an attempt.
 * The names follow from the log alone, so every process that reads the log derives the same ids from them (8.2).
 */
export const activityName = {
  turn: (turnId: string): string => `turn ${turnId}`,
  iteration: (turnId: string, iteration: number): string => `iteration ${iteration} ${turnId}`,
  modelCall: (callId: string): string => `model ${callId}`,
  call: (callId: string): string => `call ${callId}`,
  attempt: (callId: string, attempt: number): string => `attempt ${attempt} ${callId}`,
} as const;

/** Where a trace enters the engine: a direct call, or a turn. All that happens under it is in one trace (8.1). */
export interface TraceOrigin {
  /** Names it among all that this engine has ever recorded. */
  readonly name: string;
  /** The caller's context, as the log has it; empty where the caller had none. */
  readonly traceContext: Readonly<Record<string, string>>;
}

interface Place {
  readonly tenant: string;
  readonly sessionId: string;
}

/** The instant tells a direct call apart from an older one of the same id that is not retained any more. */
export function originOfCall(
  { tenant, sessionId }: Place,
  requestedAt: Instant,
  traceContext: TraceOrigin['traceContext'],
): TraceOrigin {
  return { name: `${tenant}\n${sessionId}\n${requestedAt}`, traceContext };
}

export function originOfTurn(
  { tenant, sessionId }: Place,
  turnId: string,
  traceContext: TraceOrigin['traceContext'],
): TraceOrigin {
  return { name: `${tenant}\n${sessionId}\n${turnId}`, traceContext };
}
