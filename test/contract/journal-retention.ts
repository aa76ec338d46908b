import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_PAGE_SIZE, MAX_PRUNED_BYTES, MAX_PRUNED_EVENTS } from '../../src/core/limits.ts';
import { timestamp } from '../../src/core/time.ts';
import type { Append, Journal, SessionHead, SessionKey } from '../../src/engine/ports.ts';
import { appendOf, collect, ENDED, eventOf, keyOf, RESTING, RUNNING } from './session-events.ts';

const ALL = { endedBefore: Number.MAX_SAFE_INTEGER, limit: 100 };
const DIGESTS = ['a', 'b', 'c'].map((digit) => `sha256-${digit.repeat(64)}`);
const [A = '', B = '', C = ''] = DIGESTS;

/** One event after a sequence, at a time. */
export function appendAt(
  key: SessionKey,
  expectedSequence: number,
  at: number,
  head: SessionHead,
  more: Pick<Append, 'blobs' | 'definitions'> = {},
): Append {
  const event = { ...eventOf(key.sessionId, expectedSequence + 1), occurredAt: timestamp(at) };
  return { key, expectedSequence, events: [event], head, ...more };
}

/** How every journal forgets what is old, and what it knows of blobs. */
export function describeRetention(name: string, open: () => Promise<Journal>): void {
  describe(`${name}: retention in a journal`, () => {
    let journal: Journal;
    beforeEach(async () => {
      journal = await open();
    });
    afterEach(() => journal.close());

    async function lengthOf(key: SessionKey): Promise<number> {
      return (await collect(journal.read(key, 0))).length;
    }

    /** Prunes until there is nothing more to do. */
    async function pruneAll(query = ALL): Promise<readonly SessionKey[]> {
      const removed: SessionKey[] = [];
      for (;;) {
        const pruned = await journal.prune(query);
        removed.push(...pruned.removed);
        if (!pruned.more) return removed;
      }
    }

    describe('prune', () => {
      it('4.12: removes what ended before, the oldest end first, and nothing else', async () => {
        await journal.append([
          appendAt(keyOf('later'), 0, 3_000, ENDED),
          appendAt(keyOf('early'), 0, 1_000, ENDED),
          appendAt(keyOf('early', 'other'), 0, 2_000, ENDED),
          appendAt(keyOf('just now'), 0, 5_000, ENDED),
          appendAt(keyOf('running'), 0, 1_000, RUNNING),
        ]);
        expect(await journal.prune({ endedBefore: 5_000, limit: 2 })).toEqual({
          removed: [keyOf('early'), keyOf('early', 'other')],
          more: true,
        });
        expect(await pruneAll({ endedBefore: 5_000, limit: 2 })).toEqual([keyOf('later')]);
        expect(await lengthOf(keyOf('early'))).toBe(0);
        expect(await lengthOf(keyOf('just now'))).toBe(1);
        expect(await lengthOf(keyOf('running'))).toBe(1);
        const query = {
          tenant: 'acme',
          kind: 'call',
          subject: 'ann',
          onlyUnfinished: false,
          limit: 9,
        } as const;
        expect(await journal.list(query)).toEqual({ sessionIds: ['running', 'just now'] });
        expect(await collect(journal.unfinished())).toEqual([keyOf('running')]);
      });

      it('4.12: removes no conversation for its age, however long it rests', async () => {
        await journal.append([
          appendAt(keyOf('resting'), 0, 1_000, RESTING),
          appendAt(keyOf('ended'), 0, 1_000, ENDED),
        ]);
        await journal.append([appendAt(keyOf('resting'), 1, 2_000, { ...RESTING, unfinished: true })]);
        await journal.append([appendAt(keyOf('resting'), 2, 3_000, RESTING)]);
        expect(await pruneAll()).toEqual([keyOf('ended')]);
        expect(await lengthOf(keyOf('resting'))).toBe(3);
      });

      it('removes one session by its key, of any kind and whatever its age, and no other', async () => {
        await journal.append([
          appendAt(keyOf('a'), 0, 1_000, RESTING, { blobs: [A] }),
          appendAt(keyOf('a', 'rival'), 0, 1_000, RESTING),
          appendAt(keyOf('b'), 0, 1_000, RESTING, { blobs: [B] }),
          appendAt(keyOf('call'), 0, 1_000, ENDED),
        ]);
        const remove = (key: SessionKey) => journal.prune({ session: key });
        expect(await remove(keyOf('a'))).toMatchObject({ removed: [keyOf('a')] });
        expect(await remove(keyOf('call'))).toMatchObject({ removed: [keyOf('call')] });
        expect(await lengthOf(keyOf('a'))).toBe(0);
        expect(await lengthOf(keyOf('call'))).toBe(0);
        expect(await lengthOf(keyOf('a', 'rival'))).toBe(1);
        expect(await lengthOf(keyOf('b'))).toBe(1);
        const query = {
          tenant: 'acme',
          kind: 'session',
          subject: 'ann',
          onlyUnfinished: false,
          limit: 9,
        } as const;
        expect(await journal.list(query)).toEqual({ sessionIds: ['b'] });
        await pruneAll();
        expect(await journal.unreferenced('acme', DIGESTS)).toEqual([A, C]);
      });

      it('removes a session by its key once: again, or where there is none, it does nothing', async () => {
        await journal.append([appendAt(keyOf('a'), 0, 1_000, RESTING)]);
        expect(await journal.prune({ session: keyOf('a') })).toMatchObject({ removed: [keyOf('a')] });
        expect(await journal.prune({ session: keyOf('a') })).toMatchObject({ removed: [] });
        expect(await journal.prune({ session: keyOf('nobody') })).toMatchObject({ removed: [] });
      });

      it('removes a long session by its key, and its id is free at once', async () => {
        const count = MAX_PRUNED_EVENTS * 2 + 10;
        await journal.append([appendOf(keyOf('a'), 0, count, RESTING)]);
        await journal.prune({ session: keyOf('a') });
        expect(await lengthOf(keyOf('a'))).toBe(0);
        expect(
          await journal.append([appendOf(keyOf('a'), 0, 3, { ...RESTING, unfinished: true }, 'new')]),
        ).toEqual([{ kind: 'appended' }]);
        await pruneAll();
        expect(await collect(journal.read(keyOf('a'), 0))).toEqual(
          appendOf(keyOf('a'), 0, 3, RESTING, 'new').events,
        );
      });

      it('finds nothing in an empty journal', async () => {
        expect(await journal.prune(ALL)).toEqual({ removed: [], more: false });
      });

      it('counts from the end: events that come after it make a session no younger', async () => {
        await journal.append([appendAt(keyOf('a'), 0, 1_000, RUNNING)]);
        await journal.append([appendAt(keyOf('a'), 1, 2_000, ENDED)]);
        await journal.append([appendAt(keyOf('a'), 2, 9_000, ENDED)]);
        expect(await pruneAll({ ...ALL, endedBefore: 2_000 })).toEqual([]);
        expect(await pruneAll({ ...ALL, endedBefore: 2_001 })).toEqual([keyOf('a')]);
      });

      it('a session that went on after it had ended is kept, and counts from its last end', async () => {
        await journal.append([appendAt(keyOf('a'), 0, 1_000, ENDED)]);
        await journal.append([appendAt(keyOf('a'), 1, 2_000, RUNNING)]);
        expect(await pruneAll()).toEqual([]);
        await journal.append([appendAt(keyOf('a'), 2, 3_000, ENDED)]);
        expect(await pruneAll({ ...ALL, endedBefore: 3_000 })).toEqual([]);
        expect(await pruneAll()).toEqual([keyOf('a')]);
      });

      it('4.12: an id is free again, also while events of the long log that had it still go', async () => {
        const count = MAX_PRUNED_EVENTS * 2 + 10;
        await journal.append([appendOf(keyOf('a'), 0, count, ENDED), appendOf(keyOf('b'), 0, 1, ENDED)]);
        const first = await journal.prune(ALL);
        expect(first.removed).toContainEqual(keyOf('a'));
        expect(await lengthOf(keyOf('a'))).toBe(0);
        expect(await journal.append([appendOf(keyOf('a'), count)])).toEqual([
          { kind: 'conflict', actualSequence: 0 },
        ]);
        expect(await journal.append([appendOf(keyOf('a'), 0, 3, RUNNING, 'new')])).toEqual([
          { kind: 'appended' },
        ]);
        await pruneAll();
        expect(await collect(journal.read(keyOf('a'), 0))).toEqual(
          appendOf(keyOf('a'), 0, 3, RUNNING, 'new').events,
        );
        expect(await lengthOf(keyOf('b'))).toBe(0);
      });

      it('large events go as well', async () => {
        const text = 'x'.repeat(MAX_PRUNED_BYTES / 2);
        await journal.append([appendOf(keyOf('a'), 0, 6, ENDED, text), appendOf(keyOf('b'), 0, 1, ENDED)]);
        expect(await pruneAll()).toEqual([keyOf('b'), keyOf('a')]);
        expect(await journal.prune(ALL)).toEqual({ removed: [], more: false });
      });

      it('a read that is under way gives the whole log, or rejects: never a part of it, or of another', async () => {
        const text = 'x'.repeat(100_000);
        await journal.append([appendOf(keyOf('a'), 0, 10, ENDED, text)]);
        const reading = journal.read(keyOf('a'), 0)[Symbol.asyncIterator]();
        const events = [(await reading.next()).value];
        await pruneAll();
        await journal.append([appendOf(keyOf('a'), 0, 10, RUNNING, 'another')]);
        const rest = async (): Promise<number> => {
          for (let next = await reading.next(); next.done !== true; next = await reading.next()) {
            events.push(next.value);
          }
          return events.length;
        };
        const [read] = await Promise.allSettled([rest()]);
        const whole = appendOf(keyOf('a'), 0, 10, ENDED, text).events;
        const wanted =
          read.status === 'fulfilled'
            ? { status: 'fulfilled', value: 10 }
            : { status: 'rejected', reason: expect.objectContaining({ kind: 'unavailable' }) };
        expect(read).toEqual(wanted);
        expect(events).toEqual(whole.slice(0, events.length));
      });

      it('keeps what others append at the same time', async () => {
        const ids = Array.from({ length: 40 }, (_, index) => `s${index}`);
        await journal.append(ids.map((id) => appendAt(keyOf(id), 0, 1_000, ENDED)));
        const pruned = pruneAll({ ...ALL, limit: 7 });
        const news = ids.map((id) => journal.append([appendOf(keyOf(`new ${id}`), 0, 2)]));
        expect((await Promise.all(news)).flat()).toEqual(Array(40).fill({ kind: 'appended' }));
        expect(await pruned).toHaveLength(40);
        expect(await lengthOf(keyOf('new s39'))).toBe(2);
      });

      it.each([0, -1, 1.5, MAX_PAGE_SIZE + 1])('a limit of %d is a bug', async (limit) => {
        await expect(journal.prune({ ...ALL, limit })).rejects.toThrow(RangeError);
      });

      it('rejects after close', async () => {
        await journal.close();
        await expect(journal.prune(ALL)).rejects.toMatchObject({ name: 'JournalError', kind: 'closed' });
        await expect(journal.unreferenced('acme', [])).rejects.toMatchObject({ kind: 'closed' });
      });
    });

    describe('unreferenced', () => {
      const ask = (tenant = 'acme') => journal.unreferenced(tenant, DIGESTS);

      it('3.3: names what no session refers to, and nothing of another tenant protects it', async () => {
        await journal.append([
          appendAt(keyOf('a'), 0, 1_000, RUNNING, { blobs: [A] }),
          appendAt(keyOf('b', 'rival'), 0, 1_000, RUNNING, { blobs: [B], definitions: [C] }),
        ]);
        expect(await ask()).toEqual([B, C]);
        expect(await ask('rival')).toEqual([A]);
        expect(await ask('nobody')).toEqual(DIGESTS);
      });

      it('a reference lasts until the last session that made it is gone', async () => {
        await journal.append([
          appendAt(keyOf('a'), 0, 1_000, ENDED, { blobs: [A, A, B] }),
          appendAt(keyOf('b'), 0, 2_000, ENDED, { blobs: [B] }),
        ]);
        await journal.append([appendAt(keyOf('b'), 1, 2_000, ENDED, { blobs: [B, C] })]);
        await pruneAll({ ...ALL, endedBefore: 1_500 });
        expect(await ask()).toEqual([A]);
        await pruneAll();
        expect(await ask()).toEqual(DIGESTS);
      });

      it('7.5: so does a reference to a definition', async () => {
        await journal.append([appendAt(keyOf('a'), 0, 1_000, ENDED, { definitions: [A] })]);
        await journal.append([appendAt(keyOf('b'), 0, 2_000, ENDED, { definitions: [A, B] })]);
        await pruneAll({ ...ALL, endedBefore: 1_500 });
        expect(await ask()).toEqual([C]);
        await pruneAll();
        expect(await ask()).toEqual(DIGESTS);
      });

      it('an append that was refused refers to nothing', async () => {
        await journal.append([appendAt(keyOf('a'), 0, 1_000, RUNNING)]);
        await journal.append([appendAt(keyOf('a'), 5, 1_000, RUNNING, { blobs: [A] })]);
        expect(await ask()).toEqual(DIGESTS);
      });

      it('never names what a session that is there refers to, whatever is appended and pruned', async () => {
        const session = fc.constantFrom('p', 'q', 'r', 's');
        const command = fc.oneof(
          fc.record({
            kind: fc.constant('append' as const),
            session,
            blobs: fc.subarray(DIGESTS),
            definitions: fc.subarray(DIGESTS),
            unfinished: fc.boolean(),
          }),
          fc.record({ kind: fc.constant('prune' as const), age: fc.nat(6) }),
        );
        let run = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(command, { maxLength: 20 }), async (commands) => {
            run += 1;
            const tenant = `run-${run}`;
            const twin = new Map<string, { length: number; end: number; digests: Set<string> }>();
            let now = run * 1_000;
            for (const each of commands) {
              now += 1;
              if (each.kind === 'prune') {
                const endedBefore = now - each.age;
                await pruneAll({ ...ALL, endedBefore });
                for (const [id, { end }] of twin) if (end < endedBefore) twin.delete(id);
                continue;
              }
              const { blobs, definitions, unfinished } = each;
              const known = twin.get(each.session) ?? { length: 0, end: Infinity, digests: new Set() };
              const head = { ...RUNNING, unfinished };
              await journal.append([
                appendAt(keyOf(each.session, tenant), known.length, now, head, { blobs, definitions }),
              ]);
              known.length += 1;
              known.end = unfinished ? Infinity : Math.min(known.end, now);
              for (const digest of [...blobs, ...definitions]) known.digests.add(digest);
              twin.set(each.session, known);
            }
            const needed = new Set([...twin.values()].flatMap(({ digests }) => [...digests]));
            const free = await ask(tenant);
            expect(free.filter((digest) => needed.has(digest))).toEqual([]);
            for (const [id, { length }] of twin) expect(await lengthOf(keyOf(id, tenant))).toBe(length);
          }),
          { numRuns: 60 },
        );
      });
    });
  });
}
