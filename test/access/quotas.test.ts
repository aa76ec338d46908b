import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CallerSchema } from '../../gen/spindle/v1/call_pb.ts';
import { createBucket } from '../../src/access/bucket.ts';
import { createQuotas } from '../../src/access/quotas.ts';
import { LimitSettingsSchema } from '../../src/access/settings.ts';
import { createManualClock } from './manual-clock.ts';

const caller = (tenant: string, credential: string, subject = 'ann') =>
  create(CallerSchema, { tenant, subject, claims: { role: 'client', credential } });

function quotas(settings: object) {
  const clock = createManualClock(0);
  return { clock, ...createQuotas(LimitSettingsSchema.parse(settings), clock) };
}

describe('a rate', () => {
  it('9.3: never lets more through than one second’s worth and what has come since, and never starves', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 200 }),
        (perSecond, waits) => {
          const bucket = createBucket(perSecond, 0);
          let now = 0;
          let taken = 0;
          for (const wait of waits) {
            now += wait;
            const refused = bucket.take(now);
            if (refused === undefined) {
              taken += 1;
              continue;
            }
            // What the refusal promised holds.
            now += refused;
            expect(bucket.take(now)).toBeUndefined();
            taken += 1;
          }
          expect(taken).toBeLessThanOrEqual(perSecond + (now / 1_000) * perSecond + 1e-6);
        },
      ),
    );
  });

  it('9.3: says when there is one again', () => {
    const bucket = createBucket(2, 0);
    expect([bucket.take(0), bucket.take(0), bucket.take(0)]).toEqual([undefined, undefined, 500]);
    expect([bucket.take(499), bucket.take(500)]).toEqual([1, undefined]);
  });
});

describe('limits', () => {
  it('9.3: of a tenant hold for all its credentials together, and for no other tenant', () => {
    const { rate, clock } = quotas({ tenant: { calls_per_second: 1 } });
    expect(rate(caller('acme', 'a'))).toBeUndefined();
    expect(rate(caller('acme', 'b'))).toMatchObject({
      reason: 'overloaded',
      metadata: { limit: 'calls_per_second', of: 'tenant' },
      retryAfterMs: 1_000,
    });
    expect(rate(caller('other', 'c'))).toBeUndefined();
    clock.advance(1_000);
    expect(rate(caller('acme', 'b'))).toBeUndefined();
  });

  it('9.3: of a credential hold for it alone; an issuer is one for each of its subjects', () => {
    const { rate } = quotas({ credential: { calls_per_second: 1 } });
    for (const [credential, subject] of [
      ['a', 'ann'],
      ['b', 'ann'],
      ['issuer:x', 'ann'],
      ['issuer:x', 'bob'],
    ] as const) {
      expect(rate(caller('acme', credential, subject))).toBeUndefined();
      expect(rate(caller('acme', credential, subject))?.metadata).toMatchObject({
        of: 'credential',
      });
    }
  });

  it('9.3: of a named tenant replace those of every tenant', () => {
    const { begin } = quotas({ tenant: { calls_in_flight: 1 }, tenants: { acme: { calls_in_flight: 2 } } });
    const begun = ['acme', 'acme', 'acme', 'other', 'other'].map((tenant) => begin(caller(tenant, 'a')).ok);
    expect(begun).toEqual([true, true, false, true, false]);
  });

  it('9.3: a credential over a limit of its own takes nothing from its tenant', () => {
    const { rate } = quotas({ tenant: { calls_per_second: 2 }, credential: { calls_per_second: 1 } });
    expect(rate(caller('acme', 'a'))).toBeUndefined();
    for (let flood = 0; flood < 100; flood += 1)
      expect(rate(caller('acme', 'a'))?.metadata).toMatchObject({ of: 'credential' });
    expect(rate(caller('acme', 'b'))).toBeUndefined();
  });

  it('9.3: count what is on record beside what is about to be, and refuse only that', () => {
    const { begin, hold } = quotas({ credential: { calls_in_flight: 2 } });
    const asked = begin(caller('acme', 'a'));
    const leave = hold(caller('acme', 'a'));
    if (asked.ok) asked.value();
    const another = hold(caller('acme', 'a'));
    const third = hold(caller('acme', 'a'));
    expect(begin(caller('acme', 'a'))).toMatchObject({
      refusal: { metadata: { limit: 'calls_in_flight', of: 'credential' } },
    });
    for (const left of [leave, leave, another]) left();
    expect([begin(caller('acme', 'a')).ok, begin(caller('acme', 'a')).ok]).toEqual([true, false]);
    third();
  });

  it('9.3: count open streams until they close, once each', () => {
    const { stream } = quotas({ tenant: { streams: 2 }, credential: { streams: 1 } });
    const first = stream(caller('acme', 'a'));
    expect(stream(caller('acme', 'a'))).toMatchObject({
      refusal: { metadata: { limit: 'streams', of: 'credential' } },
    });
    const second = stream(caller('acme', 'b'));
    expect(stream(caller('acme', 'c'))).toMatchObject({ refusal: { metadata: { of: 'tenant' } } });
    for (let twice = 0; twice < 2; twice += 1) if (first.ok) first.value();
    expect([second.ok, stream(caller('acme', 'a')).ok, stream(caller('acme', 'c')).ok]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each([
    { tenant: { calls_per_second: 0 } },
    { credential: { streams: 1.5 } },
    { tenants: { a: { calls: 1 } } },
    { all: {} },
  ])('are refused where they are none: %j', (settings) => {
    expect(LimitSettingsSchema.safeParse(settings).success).toBe(false);
  });
});
