import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BLOBS_PER_STEP } from '../../src/core/limits.ts';
import type { Blobs, Collected, CollectQuery, Journal } from '../../src/engine/ports.ts';
import { appendAt } from './journal-retention.ts';
import { collect, ENDED, keyOf, RUNNING } from './session-events.ts';

/** Opens a store whose blobs are as old as this clock says. */
export type OpenBlobs = (now: () => number) => Promise<Blobs>;

const NOBODY: CollectQuery['unreferenced'] = async (_, digests) => digests;
const START = 1_800_000_000_000;

/** How every blob store forgets what nobody needs, alone and beside a journal. */
export function describeCollection(name: string, open: OpenBlobs, openJournal: () => Promise<Journal>): void {
  describe(`${name}: collection in a blob store`, () => {
    async function setUp() {
      let now = START;
      const blobs = await open(() => now);
      onTestFinished(() => blobs.close());
      return {
        blobs,
        now: () => now,
        pass: (millis: number) => {
          now += millis;
        },
        put: (text: string, tenant = 'acme') => blobs.put(tenant, Buffer.from(text)),
      };
    }

    async function collectAll(blobs: Blobs, query: CollectQuery): Promise<Collected> {
      const sum = { blobs: 0, bytes: 0 };
      for await (const step of blobs.collect(query)) {
        sum.blobs += step.blobs;
        sum.bytes += step.bytes;
      }
      return sum;
    }

    it('3.3: removes what was put before and what nobody refers to, and says how much', async () => {
      const { blobs, put, pass, now } = await setUp();
      const old = await put('old');
      const needed = await put('old and needed');
      pass(10);
      const young = await put('young');
      const query: CollectQuery = {
        putBefore: now(),
        unreferenced: async (_, digests) => digests.filter((digest) => digest !== needed),
      };
      expect(await collectAll(blobs, query)).toEqual({ blobs: 1, bytes: 3 });
      expect(await blobs.read('acme', old)).toBeUndefined();
      expect(await blobs.read('acme', needed)).toBeDefined();
      expect(await blobs.read('acme', young)).toBeDefined();
      expect(await put('old')).toBe(old);
      expect(await blobs.read('acme', old)).toBeDefined();
    });

    it('what is put again is young again', async () => {
      const { blobs, put, pass, now } = await setUp();
      const digest = await put('again');
      pass(10);
      await put('again');
      expect(await collectAll(blobs, { putBefore: now(), unreferenced: NOBODY })).toEqual({
        blobs: 0,
        bytes: 0,
      });
      expect(await blobs.read('acme', digest)).toBeDefined();
    });

    it('what is put again while the journal is asked is not removed', async () => {
      const { blobs, put, pass, now } = await setUp();
      const digest = await put('again');
      pass(10);
      const putBefore = now();
      const unreferenced: CollectQuery['unreferenced'] = async (_, digests) => {
        await put('again');
        return digests;
      };
      expect(await collectAll(blobs, { putBefore, unreferenced })).toMatchObject({ blobs: 0 });
      expect(await blobs.read('acme', digest)).toBeDefined();
    });

    it('a put that meets the removal of its bytes leaves them there', async () => {
      const { blobs, put, pass, now } = await setUp();
      for (let round = 0; round < 20; round += 1) {
        const digest = await put('again');
        pass(10);
        const puts: Promise<string>[] = [];
        const unreferenced: CollectQuery['unreferenced'] = async (_, digests) => {
          // At different distances to the removal that follows.
          const later = Array.from({ length: round }).reduce<Promise<void>>(
            (chain) => chain.then(() => undefined),
            Promise.resolve(),
          );
          puts.push(later.then(() => put('again')));
          return digests;
        };
        await collectAll(blobs, { putBefore: now(), unreferenced });
        await Promise.all(puts);
        expect(await blobs.read('acme', digest)).toBeDefined();
      }
    });

    it.each(['', '..', 'ACME', 'a/b', '🧵', 'zero\0byte', '~', '.incoming'])(
      '9.3: asks for each tenant apart, whatever it is called: %j',
      async (tenant) => {
        const { blobs, put, pass, now } = await setUp();
        const digest = await put('same');
        await put('same', tenant);
        pass(10);
        const asked: string[] = [];
        const unreferenced: CollectQuery['unreferenced'] = async (who, digests) => {
          asked.push(who);
          return who === tenant ? digests : [];
        };
        expect(await collectAll(blobs, { putBefore: now(), unreferenced })).toEqual({ blobs: 1, bytes: 4 });
        expect(asked.toSorted()).toEqual([tenant, 'acme'].toSorted());
        expect(await blobs.read('acme', digest)).toBeDefined();
        expect(await blobs.read(tenant, digest)).toBeUndefined();
      },
    );

    it('goes in steps, and may be given up', async () => {
      const { blobs, put, pass, now } = await setUp();
      for (let index = 0; index < BLOBS_PER_STEP + 50; index += 1) await put(`blob ${index}`);
      pass(10);
      const sizes: number[] = [];
      const unreferenced: CollectQuery['unreferenced'] = async (_, digests) => {
        sizes.push(digests.length);
        return digests;
      };
      for await (const step of blobs.collect({ putBefore: now(), unreferenced })) {
        expect(step.blobs).toBeLessThanOrEqual(BLOBS_PER_STEP);
        break;
      }
      const rest = await collectAll(blobs, { putBefore: now(), unreferenced });
      expect(rest.blobs).toBe(BLOBS_PER_STEP + 50 - (sizes[0] ?? 0));
    });

    it('rejects after close', async () => {
      const { blobs, now } = await setUp();
      await blobs.close();
      await expect(collect(blobs.collect({ putBefore: now(), unreferenced: NOBODY }))).rejects.toMatchObject({
        name: 'JournalError',
        kind: 'closed',
      });
    });

    it('every blob that a retained session refers to can be read, whatever happens in which order', async () => {
      const { blobs, now, pass, put } = await setUp();
      const journal = await openJournal();
      onTestFinished(() => journal.close());
      const grace = 50;
      const content = fc.constantFrom('one', 'two', 'three', 'four');
      const session = fc.constantFrom('p', 'q', 'r');
      const refer = fc.record({
        kind: fc.constant('refer' as const),
        session,
        contents: fc.uniqueArray(content, { maxLength: 3 }),
        as: fc.constantFrom('blobs' as const, 'definitions' as const),
        /** How long after the puts the append comes. */
        delay: fc.nat(grace - 1),
        unfinished: fc.boolean(),
      });
      const command = fc.oneof(
        refer,
        fc.record({ kind: fc.constant('prune' as const), age: fc.nat(200) }),
        fc.record({ kind: fc.constant('collect' as const), meanwhile: fc.option(refer, { nil: undefined }) }),
        fc.record({ kind: fc.constant('wait' as const), millis: fc.nat(200) }),
      );
      type Refer = typeof refer extends fc.Arbitrary<infer T> ? T : never;
      let run = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(command, { maxLength: 15 }), async (commands) => {
          run += 1;
          const tenant = `Run ${run}`;
          const twin = new Map<string, { length: number; end: number; digests: Set<string> }>();
          const doRefer = async ({ session: id, contents, as, delay, unfinished }: Refer): Promise<void> => {
            const digests: string[] = [];
            for (const text of contents) digests.push(await put(text, tenant));
            pass(delay);
            const known = twin.get(id) ?? { length: 0, end: Infinity, digests: new Set() };
            const head = unfinished ? RUNNING : ENDED;
            await journal.append([appendAt(keyOf(id, tenant), known.length, now(), head, { [as]: digests })]);
            known.length += 1;
            known.end = unfinished ? Infinity : Math.min(known.end, now());
            for (const digest of digests) known.digests.add(digest);
            twin.set(id, known);
          };
          for (const each of commands) {
            pass(1);
            if (each.kind === 'refer') await doRefer(each);
            else if (each.kind === 'wait') pass(each.millis);
            else if (each.kind === 'prune') {
              const endedBefore = now() - each.age;
              await journal.prune({ endedBefore, limit: 100 });
              for (const [id, { end }] of twin) if (end < endedBefore) twin.delete(id);
            } else {
              let { meanwhile } = each;
              await collectAll(blobs, {
                putBefore: now() - grace,
                async unreferenced(who, digests) {
                  const free = await journal.unreferenced(who, digests);
                  const now = meanwhile;
                  meanwhile = undefined;
                  if (now !== undefined) await doRefer(now);
                  return free;
                },
              });
            }
            for (const { digests } of twin.values()) {
              for (const digest of digests) expect(await blobs.read(tenant, digest), digest).toBeDefined();
            }
          }
        }),
        { numRuns: 40 },
      );
    });
  });
}
