import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToolCallRequestedSchema } from '../../gen/spindle/v1/event_pb.ts';
import { requestedCall } from '../../src/core/evolve.ts';
import { idempotencyKey } from '../../src/engine/engine.ts';

/** Everything that tells one call from another. */
const identity = fc.record({
  tenant: fc.string(),
  sessionId: fc.string(),
  callId: fc.string(),
  requestedAt: fc.nat(),
});
type Identity = typeof identity extends fc.Arbitrary<infer T> ? T : never;

function keyOf({ tenant, sessionId, callId, requestedAt }: Identity): string {
  const call = requestedCall(create(ToolCallRequestedSchema, { callId }), undefined, requestedAt);
  return idempotencyKey({ tenant, sessionId }, call);
}

describe('the idempotency key', () => {
  it('4.7: is the same for every attempt of a call, because it follows from what never changes', () => {
    fc.assert(
      fc.property(identity, fc.integer({ min: 1, max: 100 }), (call, attempt) => {
        const first = requestedCall(create(ToolCallRequestedSchema, call), undefined, call.requestedAt);
        expect(idempotencyKey(call, { ...first, attempt })).toBe(idempotencyKey(call, first));
      }),
    );
  });

  it('4.7: is never used for two calls: another tenant, session, id or time gives another key', () => {
    fc.assert(
      fc.property(identity, identity, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        expect(keyOf(one)).not.toBe(keyOf(other));
      }),
    );
  });

  it('4.7: tells parts apart that read the same when they are joined', () => {
    const one = { tenant: 'a', sessionId: 'b,c', callId: 'd', requestedAt: 1 };
    expect(keyOf(one)).not.toBe(keyOf({ ...one, tenant: 'a,b', sessionId: 'c' }));
  });
});
