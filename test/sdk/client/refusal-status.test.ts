import { describe, expect, it } from 'vitest';
import type { RefusalReason } from '../../../src/core/refusal.ts';
import { codeOf } from '../../../src/rpc/status.ts';
import { refusalStatus } from '../../../src/sdk/client/refusal-status.ts';

const REASONS: readonly RefusalReason[] = [
  'invalid_request',
  'malformed_message',
  'protocol_error',
  'hello_timeout',
  'call_not_found',
  'blob_not_found',
  'call_id_conflict',
  'call_not_open',
  'not_permitted',
  'overloaded',
  'request_too_large',
  'shutting_down',
  'journal_unavailable',
  'session_moved',
  'not_implemented',
  'internal',
];

describe('the status of a refusal on a stream of calls', () => {
  it.each(REASONS)('4.8: %s has the status that the engine gives it elsewhere', (reason) => {
    expect(refusalStatus(reason)).toBe(codeOf(reason));
  });

  it.each(['something_new', 'toString'])('%s, which only a newer engine knows, is UNKNOWN', (reason) => {
    expect(refusalStatus(reason)).toBe(2);
  });
});
