import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packCommit, unpackCommit } from '../../src/journal/commit-batch.ts';

const append = fc
  .record({
    tenant: fc.string(),
    sessionId: fc.string({ unit: 'binary' }),
    expectedSequence: fc.oneof(fc.constant(0), fc.nat()),
    unfinished: fc.boolean(),
    name: fc.string(),
    events: fc.array(fc.uint8Array({ maxLength: 64 }), { minLength: 1, maxLength: 4 }),
  })
  .map(({ tenant, sessionId, name, ...rest }) => ({
    ...rest,
    key: { tenant, sessionId },
    identity: rest.expectedSequence === 0 ? { kind: 'call' as const, name, subject: 'ann' } : undefined,
  }));

describe('a packed commit', () => {
  it('unpacks to what was packed', () => {
    fc.assert(
      fc.property(fc.array(fc.array(append, { maxLength: 4 }), { maxLength: 6 }), (calls) => {
        const wanted = calls.map((appends) =>
          appends.map(({ key, unfinished, ...rest }) => ({
            ...rest,
            ...key,
            unfinished: unfinished ? 1 : 0,
          })),
        );
        expect(unpackCommit(packCommit(calls))).toEqual(wanted);
      }),
    );
  });
});
