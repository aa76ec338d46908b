import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packCommit, unpackCommit } from '../../src/journal/commit-batch.ts';

const append = fc
  .record({
    tenant: fc.string(),
    sessionId: fc.string({ unit: 'binary' }),
    expectedSequence: fc.oneof(fc.constant(0), fc.nat()),
    endedAt: fc.option(fc.maxSafeNat(), { nil: undefined }),
    blobs: fc.array(fc.string(), { maxLength: 2 }),
    definitions: fc.subarray(['first', 'second']),
    name: fc.string(),
    count: fc.integer({ min: 1, max: 4 }),
    piece: fc.uint8Array({ maxLength: 64 }),
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
          appends.map(({ key, definitions: _, ...rest }) => ({
            ...rest,
            ...key,
            unfinished: rest.endedAt === undefined ? 1 : 0,
          })),
        );
        expect(unpackCommit(packCommit(calls))).toEqual(wanted);
      }),
    );
  });

  it('names each definition of a tenant once', () => {
    fc.assert(
      fc.property(fc.array(fc.array(append, { maxLength: 4 }), { maxLength: 6 }), (calls) => {
        const wanted = new Set(
          calls
            .flat()
            .flatMap(({ key: { tenant }, definitions }) =>
              definitions.map((digest) => JSON.stringify([tenant, digest])),
            ),
        );
        const packed = packCommit(calls).definitions.map(({ tenant, digest }) =>
          JSON.stringify([tenant, digest]),
        );
        expect(packed.toSorted()).toEqual([...wanted].toSorted());
      }),
    );
  });
});
