import { create, toBinary } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';
import {
  type ErrorInfo,
  ErrorInfoSchema,
  type RetryInfo,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { MAX_STATUS_CHARS, RETRY_AFTER_MS } from '../core/limits.ts';
import type { Refusal, RefusalReason } from '../core/refusal.ts';
import { duration } from '../core/time.ts';

/** The domain of every ErrorInfo (4.8). */
export const ERROR_DOMAIN = 'spindle.v1';

/**
 * The one table from reasons to statuses (4.8). connect's Code has gRPC's numbers. A worker reconnects after
 * every status but INVALID_ARGUMENT, PERMISSION_DENIED, UNAUTHENTICATED and UNIMPLEMENTED (5.3), so what passes
 * by itself has none of these.
 */
const CODES: Readonly<Record<RefusalReason, Code>> = {
  invalid_request: Code.InvalidArgument,
  malformed_message: Code.InvalidArgument,
  protocol_error: Code.InvalidArgument,
  hello_timeout: Code.DeadlineExceeded,
  unauthenticated: Code.Unauthenticated,
  credential_expired: Code.Unauthenticated,
  issuer_unavailable: Code.Unavailable,
  call_not_found: Code.NotFound,
  blob_not_found: Code.NotFound,
  token_not_found: Code.NotFound,
  session_not_found: Code.NotFound,
  turn_not_found: Code.NotFound,
  interrupt_not_found: Code.NotFound,
  agent_not_found: Code.NotFound,
  call_id_conflict: Code.AlreadyExists,
  session_id_conflict: Code.AlreadyExists,
  turn_already_active: Code.FailedPrecondition,
  model_unavailable: Code.FailedPrecondition,
  call_not_open: Code.FailedPrecondition,
  not_permitted: Code.PermissionDenied,
  overloaded: Code.ResourceExhausted,
  request_too_large: Code.ResourceExhausted,
  shutting_down: Code.Unavailable,
  journal_unavailable: Code.Unavailable,
  session_damaged: Code.DataLoss,
  session_moved: Code.Unavailable,
  not_implemented: Code.Unimplemented,
  internal: Code.Internal,
};

/** These pass: the same request succeeds later, or elsewhere. */
const RETRYABLE: ReadonlySet<RefusalReason> = new Set(['overloaded', 'shutting_down', 'session_moved']);

/** A refusal as grpc-js takes it, from a callback or as an `error` event. */
export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

export function codeOf(reason: RefusalReason): Code {
  return CODES[reason];
}

/** The same for an answer of the HTTP port that is no RPC's. */
export function httpStatusOf(reason: RefusalReason): number {
  const statuses: Partial<Record<Code, number>> = {
    [Code.Unauthenticated]: 401,
    [Code.PermissionDenied]: 403,
    [Code.Unavailable]: 503,
  };
  return statuses[codeOf(reason)] ?? 400;
}

/** With `grpc-status-details-bin`, as google.rpc.Status defines it. */
export function grpcStatus(refusal: Refusal): GrpcStatus {
  const code = codeOf(refusal.reason);
  const message = headerText(refusal.message);
  const info = anyPack(ErrorInfoSchema, errorInfo(refusal));
  const retry = retryInfo(refusal);
  const details: Any[] = retry === undefined ? [info] : [info, anyPack(RetryInfoSchema, retry)];
  const metadata = new Metadata();
  const status = toBinary(StatusSchema, create(StatusSchema, { code, message, details }));
  metadata.set('grpc-status-details-bin', Buffer.from(status));
  return { code, details: message, metadata };
}

/** The same for Connect and gRPC-Web. */
export function connectError(refusal: Refusal): ConnectError {
  const info = { desc: ErrorInfoSchema, value: errorInfo(refusal) };
  const retry = retryInfo(refusal);
  const details = retry === undefined ? [info] : [info, { desc: RetryInfoSchema, value: retry }];
  return new ConnectError(headerText(refusal.message), codeOf(refusal.reason), undefined, details);
}

function errorInfo(refusal: Refusal): ErrorInfo {
  const metadata = Object.fromEntries(
    Object.entries(refusal.metadata ?? {}).map(([key, value]) => [key, headerText(value)]),
  );
  return create(ErrorInfoSchema, { domain: ERROR_DOMAIN, reason: refusal.reason, metadata });
}

function retryInfo(refusal: Refusal): RetryInfo | undefined {
  if (!RETRYABLE.has(refusal.reason)) return undefined;
  return create(RetryInfoSchema, { retryDelay: duration(refusal.retryAfterMs ?? RETRY_AFTER_MS) });
}

/** A message may quote an id of the request: a lone surrogate in it would make grpc-js throw in encodeURI. */
function headerText(text: string): string {
  const short = text.length <= MAX_STATUS_CHARS ? text : `${text.slice(0, MAX_STATUS_CHARS - 1)}…`;
  return short.toWellFormed();
}
