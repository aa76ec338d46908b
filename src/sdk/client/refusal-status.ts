import type { RefusalReason } from '../../core/refusal.ts';
import { type StatusName, statusCode } from '../spindle-error.ts';

/**
 * The statuses of refusals that come on a stream of calls, where none has a gRPC status of its own: the same
 * as the engine's own table gives them elsewhere (4.8), so that a caller branches on one thing.
 */
const STATUSES: Readonly<Record<RefusalReason, StatusName>> = {
  invalid_request: 'INVALID_ARGUMENT',
  malformed_message: 'INVALID_ARGUMENT',
  protocol_error: 'INVALID_ARGUMENT',
  hello_timeout: 'DEADLINE_EXCEEDED',
  unauthenticated: 'UNAUTHENTICATED',
  credential_expired: 'UNAUTHENTICATED',
  issuer_unavailable: 'UNAVAILABLE',
  call_not_found: 'NOT_FOUND',
  blob_not_found: 'NOT_FOUND',
  session_not_found: 'NOT_FOUND',
  turn_not_found: 'NOT_FOUND',
  interrupt_not_found: 'NOT_FOUND',
  agent_not_found: 'NOT_FOUND',
  session_id_conflict: 'ALREADY_EXISTS',
  turn_already_active: 'FAILED_PRECONDITION',
  model_unavailable: 'FAILED_PRECONDITION',
  token_not_found: 'NOT_FOUND',
  call_id_conflict: 'ALREADY_EXISTS',
  call_not_open: 'FAILED_PRECONDITION',
  not_permitted: 'PERMISSION_DENIED',
  overloaded: 'RESOURCE_EXHAUSTED',
  request_too_large: 'RESOURCE_EXHAUSTED',
  shutting_down: 'UNAVAILABLE',
  journal_unavailable: 'UNAVAILABLE',
  session_damaged: 'DATA_LOSS',
  session_moved: 'UNAVAILABLE',
  not_implemented: 'UNIMPLEMENTED',
  internal: 'INTERNAL',
};

/** The number of the status; UNKNOWN for a reason that a newer engine has. */
export function refusalStatus(reason: string): number {
  return statusCode(Object.hasOwn(STATUSES, reason) ? STATUSES[reason as RefusalReason] : 'UNKNOWN');
}
