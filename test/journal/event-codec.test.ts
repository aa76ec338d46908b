import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';
import { EVENTS_PER_ENCODING } from '../../src/core/limits.ts';
import { decodeEvent, encodePieces } from '../../src/journal/event-codec.ts';
import { splitPiece } from '../../src/journal/log-piece.ts';

/** Lengths on both sides of every size that a length prefix of up to three bytes has. */
const textLength = fc.oneof(fc.nat(200), fc.integer({ min: 16_200, max: 16_500 }), fc.constant(2_200_000));

const event = fc.record({ sequence: fc.integer({ min: 1, max: 9 }), length: textLength }).map((given) =>
  create(SessionEventSchema, {
    sessionId: 's',
    sequence: given.sequence,
    occurredAt: { seconds: 1n, nanos: given.length },
    journal: { leaseToken: 'lease' },
    kind: { case: 'toolCallRequested', value: { callId: 'c', arguments: 'ä'.repeat(given.length) } },
  }),
);

describe('encodePieces', () => {
  it('gives pieces that split into the events that they hold', () => {
    fc.assert(
      fc.property(fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { maxLength: 4 }), (pieces) => {
        const split = encodePieces(pieces).flatMap((piece, index) =>
          splitPiece(piece, pieces[index]?.length ?? 0),
        );
        expect(split.map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual(
          pieces
            .flat()
            .map((one) =>
              Buffer.from(toBinary(SessionEventSchema, { ...one, sessionId: '', sequence: 0 })).toString(
                'hex',
              ),
            ),
        );
      }),
      { numRuns: 20 },
    );
  });

  it('7.4: a piece that is cut, or holds another number of events, is refused', () => {
    const events = [1, 2, 3].map((sequence) =>
      create(SessionEventSchema, { sessionId: 's', sequence, turnId: 'turn' }),
    );
    const [piece = new Uint8Array()] = encodePieces([events]);
    expect(splitPiece(piece, 3)).toHaveLength(3);
    expect(() => splitPiece(piece, 2)).toThrow(RangeError);
    expect(() => splitPiece(piece.subarray(0, -1), 3)).toThrow(RangeError);
  });

  it('gives each event the bytes that it has alone, without what the journal keeps beside it', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), (events) => {
        const alone = events.map((one) =>
          toBinary(SessionEventSchema, { ...one, sessionId: '', sequence: 0 }),
        );
        const together = encodePieces(events.map((one) => [one]));
        expect(together.map((bytes) => Buffer.from(bytes).toString('hex'))).toEqual(
          alone.map((bytes) => Buffer.from(bytes).toString('hex')),
        );
      }),
      { numRuns: 20 },
    );
  });

  it('gives back every event of a batch that takes several goes, in order', () => {
    const events = Array.from({ length: 2 * EVENTS_PER_ENCODING + 1 }, (_, index) =>
      create(SessionEventSchema, { sessionId: 's', sequence: index + 1, turnId: `turn-${index}` }),
    );
    const decoded = encodePieces(events.map((one) => [one])).map((bytes, index) =>
      decodeEvent(bytes, 's', index + 1),
    );
    expect(decoded).toEqual(events);
  });

  it('keeps fields that this version does not know', () => {
    const unknown = { no: 99, wireType: 2, data: Uint8Array.of(1, 7) };
    const given = { ...create(SessionEventSchema, { sessionId: 's', sequence: 3 }), $unknown: [unknown] };
    const [bytes] = encodePieces([[given]]);
    expect(bytes && decodeEvent(bytes, 's', 3).$unknown).toEqual([unknown]);
  });
});
