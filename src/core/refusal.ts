/**
 * Why a request is refused before anything is recorded. A refusal is a value; rpc/status.ts alone knows
 * which gRPC status each reason has. The reasons are part of the contract: clients branch on them.
 */
export type RefusalReason =
  /** A field of the request breaks a rule. */
  | 'invalid_request'
  /** Bytes that are no message of the contract. */
  | 'malformed_message'
  /** A worker's frame breaks the protocol of the stream. */
  | 'protocol_error'
  /** The stream's first frame did not come in time. */
  | 'hello_timeout'
  /** No credential, or none that this engine knows (9.2). */
  | 'unauthenticated'
  /** The credential was good until it expired or was revoked (9.2). */
  | 'credential_expired'
  /** The keys of the issuer of credentials cannot be read, so nobody knows whether this one is good (9.2). */
  | 'issuer_unavailable'
  | 'call_not_found'
  | 'blob_not_found'
  | 'token_not_found'
  | 'session_not_found'
  | 'turn_not_found'
  | 'interrupt_not_found'
  /** No worker binds the agent, the deployment does not configure it, and the request brings no configuration. */
  | 'agent_not_found'
  /** The call id names another call: other name, or other argument bytes (4.12). */
  | 'call_id_conflict'
  /** The session id names another session: other agent, or other owner. */
  | 'session_id_conflict'
  /** A turn runs; this one may be queued (6.14). */
  | 'turn_already_active'
  /** The model cannot be called as the engine is configured. */
  | 'model_unavailable'
  /** The call is neither open nor dispatched, or its attempt is another one (4.9). */
  | 'call_not_open'
  /** The caller's credential does not give it this right (9.2), or the call waits for somebody else (4.9). */
  | 'not_permitted'
  /** A named limit of core/limits.ts is reached. Trying later may help. */
  | 'overloaded'
  | 'request_too_large'
  /** The engine drains. Another engine, or this one after its restart, will answer. */
  | 'shutting_down'
  /** The journal stopped; the engine's log says why. */
  | 'journal_unavailable'
  /** What was recorded of this call is not what was written (7.4). Others are not touched. */
  | 'session_damaged'
  /** Another engine took the session over (7.3). */
  | 'session_moved'
  | 'not_implemented'
  | 'internal';

export interface Refusal {
  readonly reason: RefusalReason;
  /** What was wrong, where, and what to do; no value of an argument or a credential (9.4). */
  readonly message: string;
  /** Facts for programs: the id, the field, the limit. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** When the same request may succeed, in milliseconds from now, where that is known better than RETRY_AFTER_MS. */
  readonly retryAfterMs?: number;
}

/** A value, or the reason why there is none. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal };

export function accepted<T>(value: T): Outcome<T> {
  return { ok: true, value };
}

export function refused(
  reason: RefusalReason,
  message: string,
  metadata?: Readonly<Record<string, string>>,
): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: metadata === undefined ? { reason, message } : { reason, message, metadata } };
}
