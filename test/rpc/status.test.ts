import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { MAX_STATUS_CHARS, RETRY_AFTER_MS } from '../../src/core/limits.ts';
import { type RefusalReason, refused } from '../../src/core/refusal.ts';
import { millisOf } from '../../src/core/time.ts';
import { connectError, grpcStatus } from '../../src/rpc/status.ts';

/** The contract: clients branch on these. */
const STATUSES: Record<RefusalReason, keyof typeof status> = {
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
const REASONS = Object.keys(STATUSES) as RefusalReason[];

function statusIn(refusal: Parameters<typeof grpcStatus>[0]) {
  const [bytes] = grpcStatus(refusal).metadata.get('grpc-status-details-bin');
  if (!(bytes instanceof Buffer)) throw new Error('no details');
  return fromBinary(StatusSchema, bytes);
}

describe('the statuses of refusals', () => {
  it.each(REASONS)('4.8: %s has one status on both ports, and names itself in an ErrorInfo', (reason) => {
    const { refusal } = refused(reason, 'Why.', { id: 'x' });
    const packed = statusIn(refusal);
    const info = packed.details.map((detail) => anyUnpack(detail, ErrorInfoSchema))[0];
    expect(info).toMatchObject({ reason, domain: 'spindle.v1', metadata: { id: 'x' } });
    expect(packed).toMatchObject({ code: status[STATUSES[reason]], message: 'Why.' });
    expect(grpcStatus(refusal)).toMatchObject({ code: status[STATUSES[reason]], details: 'Why.' });
    expect(connectError(refusal).code).toBe(status[STATUSES[reason]]);
    expect(connectError(refusal).findDetails(ErrorInfoSchema)).toEqual([info]);
  });

  it('5.3: what passes by itself has no status that makes a worker give up', () => {
    const passing = REASONS.filter((reason) => connectError(refused(reason, '').refusal).details.length > 1);
    expect(passing).toEqual(['overloaded', 'shutting_down', 'session_moved']);
    const final = [Code.Unauthenticated, Code.PermissionDenied, Code.InvalidArgument, Code.Unimplemented];
    const codes = passing.map((reason) => connectError(refused(reason, '').refusal).code);
    expect(codes.filter((code) => final.includes(code))).toEqual([]);
  });

  it('says when to try again', () => {
    const [, retry] = statusIn(refused('overloaded', 'Full.').refusal).details;
    const info = retry && anyUnpack(retry, RetryInfoSchema);
    expect(info?.retryDelay && millisOf(info.retryDelay)).toBe(RETRY_AFTER_MS);
  });

  it('cuts a long message, and replaces what no header can carry', () => {
    const { details } = grpcStatus(refused('internal', `\ud800${'x'.repeat(5_000)}`).refusal);
    expect(details).toHaveLength(MAX_STATUS_CHARS);
    expect(details.startsWith('\ufffdx')).toBe(true);
    expect(details.endsWith('x…')).toBe(true);
    expect(() => encodeURI(details)).not.toThrow();
  });
});
