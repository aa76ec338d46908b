import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SessionUpdateSchema } from '../../../gen/spindle/v1/session_service_pb.ts';
import { follow } from '../../../src/sdk/session/follow.ts';
import { SpindleError, statusCode } from '../../../src/sdk/spindle-error.ts';

const update = (sequence: number) =>
  create(SessionUpdateSchema, {
    kind: { case: 'event', value: { sequence, kind: { case: 'iterationStarted', value: {} } } },
  });

/** Waits end at once, and time stands still: an outage lasts as long as the script says. */
const patient = {
  clock: {
    now: () => 0,
    alarm: (_: number, ring: () => void) => {
      queueMicrotask(ring);
      return () => undefined;
    },
  },
  random: { draw: () => 0, token: () => '' },
  unavailableAfterMs: 1,
};

/** How a stream goes: how many events it gives from its start on, how far it goes back, and how it ends. */
const stream = fc.record({
  events: fc.nat({ max: 8 }),
  repeats: fc.nat({ max: 4 }),
  end: fc.constantFrom('UNAVAILABLE', 'INTERNAL', 'CANCELLED', 'ended'),
});

describe('a log that is followed', () => {
  it('comes whole, in order and once, whatever its streams break off and repeat', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stream), fc.nat({ max: 30 }), async (streams, first) => {
        const last = first + 40;
        let opened = 0;
        async function* open(after = first) {
          const plan = streams[opened++];
          const from = plan === undefined ? after : Math.max(0, after - plan.repeats);
          const to = plan === undefined ? last : Math.min(last, from + plan.events);
          for (let sequence = from + 1; sequence <= to; sequence++) yield { update: update(sequence) };
          if (plan !== undefined && plan.end !== 'ended') {
            throw new SpindleError('broken', { code: statusCode(plan.end as 'UNAVAILABLE') });
          }
        }
        const seen: number[] = [];
        for await (const { cursor } of follow({ open }, patient, new AbortController().signal, first)) {
          if (cursor !== undefined) seen.push(cursor);
          if (cursor === last) break;
        }
        expect(seen).toEqual(Array.from({ length: 40 }, (_, index) => first + 1 + index));
      }),
    );
  });

  it('is given up once the engine has been away for too long, and not before', async () => {
    let now = 0;
    const clock = {
      now: () => now,
      alarm: (at: number, ring: () => void) => {
        now = Math.max(now, at);
        queueMicrotask(ring);
        return () => undefined;
      },
    };
    let opened = 0;
    // biome-ignore lint/correctness/useYield: a stream that breaks before it gives anything.
    async function* open(): AsyncGenerator<{ update: ReturnType<typeof update> }> {
      opened += 1;
      throw new SpindleError('no route', { code: statusCode('UNAVAILABLE') });
    }
    const ports = { clock, random: { draw: () => 1, token: () => '' }, unavailableAfterMs: 15_000 };
    const followed = follow({ open }, ports, new AbortController().signal);
    await expect(followed.next()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('no route'),
    });
    // After 0.25, 0.5, 1, 2 and 4 s; another 8 s would be too long.
    expect({ opened, now }).toEqual({ opened: 6, now: 7_750 });
  });
});
