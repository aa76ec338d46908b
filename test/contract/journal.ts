import { equals } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';
import { MAX_PAGE_SIZE, READ_PAGE_BYTES } from '../../src/core/limits.ts';
import type { Journal, ListQuery } from '../../src/engine/ports.ts';
import { appendOf, collect, ENDED, eventOf, keyOf, RESTING, RUNNING } from './session-events.ts';

const ANY_SESSION: ListQuery = {
  tenant: 'acme',
  kind: 'call',
  subject: 'ann',
  onlyUnfinished: false,
  limit: 10,
};

/** What every journal does. An implementation's test calls it, and adds what is its own. */
export function describeJournal(name: string, open: () => Promise<Journal>): void {
  describe(`${name}: the contract of a journal`, () => {
    let journal: Journal;
    beforeEach(async () => {
      journal = await open();
    });
    afterEach(() => journal.close());

    async function sequences(sessionId: string, after = 0, tenant = 'acme'): Promise<number[]> {
      return (await collect(journal.read(keyOf(sessionId, tenant), after))).map((event) => event.sequence);
    }

    describe('append and read', () => {
      it('7.1: what was appended is read, equal and in order, as soon as append has resolved', async () => {
        const first = appendOf(keyOf('a'), 0, 2);
        const second = appendOf(keyOf('a'), 2, 1, ENDED);
        expect(await journal.append([first])).toEqual([{ kind: 'appended' }]);
        expect(await journal.append([second])).toEqual([{ kind: 'appended' }]);
        const events = await collect(journal.read(keyOf('a'), 0));
        const wanted = [...first.events, ...second.events];
        expect(events).toHaveLength(3);
        expect(events.map((event, at) => equals(SessionEventSchema, event, wanted[at] ?? event))).toEqual([
          true,
          true,
          true,
        ]);
        expect(events.map((event) => event.sessionId)).toEqual(['a', 'a', 'a']);
      });

      it('an event that was appended is not changed by it', async () => {
        const append = appendOf(keyOf('a'), 0);
        await journal.append([append]);
        expect(append.events).toEqual([eventOf('a', 1)]);
      });

      it('reads what follows a sequence, and nothing beyond the end or of an unknown session', async () => {
        await journal.append([appendOf(keyOf('a'), 0, 5)]);
        expect(await sequences('a', 3)).toEqual([4, 5]);
        expect(await sequences('a', 5)).toEqual([]);
        expect(await sequences('a', 9)).toEqual([]);
        expect(await sequences('unknown')).toEqual([]);
      });

      it('an empty call of append resolves with no outcome', async () => {
        expect(await journal.append([])).toEqual([]);
      });

      it('7.3: a stale append is a conflict that names the last sequence and writes nothing', async () => {
        await journal.append([appendOf(keyOf('a'), 0, 2)]);
        const stale = { kind: 'conflict', actualSequence: 2 };
        expect(await journal.append([appendOf(keyOf('a'), 0)])).toEqual([stale]);
        expect(await journal.append([appendOf(keyOf('a'), 1, 4)])).toEqual([stale]);
        expect(await journal.append([appendOf(keyOf('a'), 3)])).toEqual([stale]);
        expect(await journal.append([appendOf(keyOf('new'), 1)])).toEqual([
          { kind: 'conflict', actualSequence: 0 },
        ]);
        expect(await sequences('a')).toEqual([1, 2]);
        expect(await sequences('new')).toEqual([]);
      });

      it('a stale append fails alone: the others of its call are written', async () => {
        await journal.append([appendOf(keyOf('a'), 0, 2)]);
        const outcomes = await journal.append([
          appendOf(keyOf('b'), 0),
          appendOf(keyOf('a'), 1, 2),
          appendOf(keyOf('c'), 0, 3),
        ]);
        expect(outcomes.map((outcome) => outcome.kind)).toEqual(['appended', 'conflict', 'appended']);
        expect(await sequences('a')).toEqual([1, 2]);
        expect(await sequences('b')).toEqual([1]);
        expect(await sequences('c')).toEqual([1, 2, 3]);
      });

      it('a stale append leaves the head as it was', async () => {
        await journal.append([appendOf(keyOf('a'), 0, 1, RUNNING)]);
        await journal.append([appendOf(keyOf('a'), 0, 1, ENDED)]);
        expect(await collect(journal.unfinished())).toEqual([keyOf('a')]);
      });

      it('appends that do not wait for each other take effect in order, checked against each other', async () => {
        const calls = [
          journal.append([appendOf(keyOf('a'), 0)]),
          journal.append([appendOf(keyOf('a'), 1, 2)]),
          journal.append([appendOf(keyOf('a'), 1)]),
          journal.append([appendOf(keyOf('a'), 3), appendOf(keyOf('a'), 4, 1, ENDED)]),
        ];
        const outcomes = (await Promise.all(calls)).flat();
        expect(outcomes.map((outcome) => outcome.kind)).toEqual([
          'appended',
          'appended',
          'conflict',
          'appended',
          'appended',
        ]);
        expect(await sequences('a')).toEqual([1, 2, 3, 4, 5]);
      });

      it('7.3: tenants do not see each other, also where their ids meet', async () => {
        await journal.append([appendOf(keyOf('bc', 'a'), 0, 2), appendOf(keyOf('c', 'ab'), 0)]);
        expect(await sequences('bc', 0, 'a')).toEqual([1, 2]);
        expect(await sequences('c', 0, 'ab')).toEqual([1]);
        expect(await sequences('bc', 0, 'ab')).toEqual([]);
      });

      it.each([
        '',
        ' ',
        "'; DROP TABLE events; --",
        'zero\0byte',
        '__proto__',
        'constructor',
        '\u{1F9F5}',
        '../..',
        'x'.repeat(10_000),
      ])('any text may be an id: %j', async (text) => {
        await journal.append([appendOf(keyOf(text, text), 0, 2)]);
        expect(await sequences(text, 0, text)).toEqual([1, 2]);
        expect(await collect(journal.unfinished())).toEqual([keyOf(text, text)]);
      });

      it.each([
        ['no event', { ...appendOf(keyOf('a'), 0), events: [] }],
        ['a gap in its events', { ...appendOf(keyOf('a'), 0), events: [eventOf('a', 1), eventOf('a', 3)] }],
        ['the wrong first sequence', { ...appendOf(keyOf('a'), 0), events: [eventOf('a', 2)] }],
        ['an event of another session', { ...appendOf(keyOf('a'), 0), events: [eventOf('b', 1)] }],
        ['a negative sequence', { ...appendOf(keyOf('a'), 0), expectedSequence: -1 }],
        ['a lone surrogate in its id', appendOf(keyOf('\ud800'), 0)],
      ])('an append with %s is a bug, and nothing of its call is written', async (_, wrong) => {
        await expect(journal.append([appendOf(keyOf('good'), 0), wrong])).rejects.toThrow(RangeError);
        expect(await sequences('good')).toEqual([]);
      });

      it('a log of many pages is read whole while appends go on, up to where it ended at the start', async () => {
        const text = 'x'.repeat(READ_PAGE_BYTES / 8);
        await journal.append([appendOf(keyOf('a'), 0, 30, RUNNING, text)]);
        const seen: number[] = [];
        for await (const { sequence } of journal.read(keyOf('a'), 0)) {
          seen.push(sequence);
          await journal.append([appendOf(keyOf('a'), 29 + sequence)]);
        }
        expect(seen).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
        expect(await sequences('a', 30)).toHaveLength(30);
      });

      it('a read that is given up leaves the journal as it was', async () => {
        await journal.append([appendOf(keyOf('a'), 0, 3)]);
        for await (const { sequence } of journal.read(keyOf('a'), 0)) {
          expect(sequence).toBe(1);
          break;
        }
        expect(await journal.append([appendOf(keyOf('a'), 3)])).toEqual([{ kind: 'appended' }]);
        expect(await sequences('a')).toEqual([1, 2, 3, 4]);
      });

      it('agrees with a list of events for each session, whatever is appended', async () => {
        const command = fc.record({
          session: fc.constantFrom('p', 'q', 'r'),
          /** Where the append stands against the end of the log. */
          offset: fc.constantFrom(0, 0, 0, -1, 1),
          count: fc.integer({ min: 1, max: 3 }),
          unfinished: fc.boolean(),
        });
        const calls = fc.array(fc.array(command, { maxLength: 4 }), { maxLength: 12 });
        let run = 0;
        await fc.assert(
          fc.asyncProperty(calls, async (batches) => {
            run += 1;
            const tenant = `run-${run}`;
            const lengths = new Map<string, number>();
            const unfinished = new Map<string, boolean>();
            const wanted: string[][] = [];
            const actual = await Promise.all(
              batches.map((batch) => {
                const outcomes: string[] = [];
                wanted.push(outcomes);
                const appends = batch.map(({ session, offset, count, unfinished: owes }) => {
                  const length = lengths.get(session) ?? 0;
                  const expected = Math.max(0, length + offset);
                  outcomes.push(expected === length ? 'appended' : 'conflict');
                  lengths.set(session, expected === length ? length + count : length);
                  const before = unfinished.get(session) ?? false;
                  unfinished.set(session, expected === length ? owes : before);
                  return appendOf(keyOf(session, tenant), expected, count, { ...RUNNING, unfinished: owes });
                });
                return journal.append(appends);
              }),
            );
            expect(actual.map((outcomes) => outcomes.map((outcome) => outcome.kind))).toEqual(wanted);
            for (const [session, length] of lengths) {
              const all = Array.from({ length }, (_, index) => index + 1);
              expect(await sequences(session, 0, tenant)).toEqual(all);
            }
            const owing = await journal.list({ ...ANY_SESSION, tenant, onlyUnfinished: true });
            expect([...(owing?.sessionIds ?? [])].sort()).toEqual(
              [...unfinished.keys()].filter((session) => unfinished.get(session)).sort(),
            );
          }),
          { numRuns: 60 },
        );
      });
    });

    describe('unfinished and list', () => {
      it('7.2: unfinished names the sessions whose newest head says so, oldest first', async () => {
        await journal.append([
          appendOf(keyOf('a'), 0, 1, RUNNING),
          appendOf(keyOf('b'), 0, 1, ENDED),
          appendOf(keyOf('c', 'other'), 0, 1, RUNNING),
          appendOf(keyOf('d'), 0, 1, RUNNING),
        ]);
        await journal.append([appendOf(keyOf('d'), 1, 1, ENDED), appendOf(keyOf('b'), 1, 1, RUNNING)]);
        expect(await collect(journal.unfinished())).toEqual([keyOf('a'), keyOf('b'), keyOf('c', 'other')]);
      });

      it('9.3: tally counts the conversations of each subject, whatever they owe, until they are removed', async () => {
        const session = (sessionId: string, tenant: string, subject: string) =>
          appendOf(keyOf(sessionId, tenant), 0, 1, { ...RESTING, subject });
        await journal.append([
          session('a', 'acme', 'ann'),
          session('b', 'acme', 'ann'),
          session('c', 'acme', 'bob'),
          session('a', 'other', 'ann'),
          appendOf(keyOf('d'), 0, 1, { ...RESTING, unfinished: true }),
          appendOf(keyOf('call:e'), 0, 1, ENDED),
        ]);
        await journal.prune({ session: keyOf('b') });
        const tallies = (await journal.tally()).map(({ tenant, subject, sessions }) =>
          [tenant, subject, sessions].join(' '),
        );
        expect(tallies.sort()).toEqual(['acme ann 2', 'acme bob 1', 'other ann 1']);
      });

      it('unfinished gives every one of many', async () => {
        const keys = Array.from({ length: 2_500 }, (_, index) => keyOf(`s${index}`));
        await journal.append(keys.map((key) => appendOf(key, 0)));
        expect(await collect(journal.unfinished())).toEqual(keys);
      });

      it('list gives the newest first, page by page, and each session once', async () => {
        await journal.append(['a', 'b', 'c', 'd', 'e'].map((id) => appendOf(keyOf(id), 0)));
        const query = { ...ANY_SESSION, limit: 2 };
        const first = await journal.list(query);
        await journal.append([appendOf(keyOf('newer'), 0), appendOf(keyOf('a'), 1)]);
        const second = await journal.list({ ...query, cursor: first?.nextCursor ?? '' });
        const third = await journal.list({ ...query, cursor: second?.nextCursor ?? '' });
        expect([first, second, third].map((page) => page?.sessionIds)).toEqual([
          ['e', 'd'],
          ['c', 'b'],
          ['a'],
        ]);
        expect(third).not.toHaveProperty('nextCursor');
      });

      it('a page that is full and the last one says that nothing follows', async () => {
        await journal.append(['a', 'b'].map((id) => appendOf(keyOf(id), 0)));
        expect(await journal.list({ ...ANY_SESSION, limit: 2 })).toEqual({ sessionIds: ['b', 'a'] });
        expect(await journal.list({ ...ANY_SESSION, subject: 'nobody' })).toEqual({ sessionIds: [] });
      });

      it('9.3: list keeps to tenant, kind, subject, name and state', async () => {
        await journal.append([
          appendOf(keyOf('mine'), 0, 1, RUNNING),
          appendOf(keyOf('mine, ended'), 0, 1, ENDED),
          appendOf(keyOf('other name'), 0, 1, { ...RUNNING, name: 'clerk' }),
          appendOf(keyOf('other name, ended'), 0, 1, { ...ENDED, name: 'clerk' }),
          appendOf(keyOf('other kind'), 0, 1, { ...RUNNING, kind: 'session' }),
          appendOf(keyOf('other subject'), 0, 1, { ...RUNNING, subject: 'bob' }),
          appendOf(keyOf('other tenant', 'rival'), 0, 1, RUNNING),
        ]);
        const ids = async (more: Partial<ListQuery>) =>
          (await journal.list({ ...ANY_SESSION, ...more }))?.sessionIds;
        expect(await ids({})).toEqual(['other name, ended', 'other name', 'mine, ended', 'mine']);
        expect(await ids({ onlyUnfinished: true })).toEqual(['other name', 'mine']);
        expect(await ids({ name: 'helper' })).toEqual(['mine, ended', 'mine']);
        expect(await ids({ name: 'clerk', onlyUnfinished: true })).toEqual(['other name']);
        expect(await ids({ kind: 'session' })).toEqual(['other kind']);
        expect(await ids({ tenant: 'rival' })).toEqual(['other tenant']);
      });

      it('a cursor of another query, a changed one and foreign text are refused', async () => {
        await journal.append(['a', 'b', 'c'].map((id) => appendOf(keyOf(id), 0)));
        const query = { ...ANY_SESSION, limit: 1 };
        const cursor = (await journal.list(query))?.nextCursor ?? '';
        expect(await journal.list({ ...query, cursor })).toHaveProperty('sessionIds', ['b']);
        expect(await journal.list({ ...query, cursor, onlyUnfinished: true })).toBeUndefined();
        expect(await journal.list({ ...query, cursor, subject: 'bob' })).toBeUndefined();
        const changed = `${cursor.startsWith('A') ? 'B' : 'A'}${cursor.slice(1)}`;
        for (const text of [
          '',
          '0',
          changed,
          `${cursor}A`,
          cursor.slice(1),
          '🧵'.repeat(8),
          'x'.repeat(10_000),
        ]) {
          expect(await journal.list({ ...query, cursor: text }), text).toBeUndefined();
        }
      });

      it.each([0, -1, 1.5, MAX_PAGE_SIZE + 1])('a limit of %d is a bug', async (limit) => {
        await expect(journal.list({ ...ANY_SESSION, limit })).rejects.toThrow(RangeError);
      });
    });

    describe('close', () => {
      it('waits for what was appended, and may be called again', async () => {
        const call = journal.append([appendOf(keyOf('a'), 0)]);
        await journal.close();
        expect(await call).toEqual([{ kind: 'appended' }]);
        await journal.close();
      });

      it('everything rejects afterwards, and says that the journal is closed', async () => {
        await journal.append([appendOf(keyOf('a'), 0)]);
        await journal.close();
        const closed = expect.objectContaining({ name: 'JournalError', kind: 'closed', written: 'nothing' });
        await expect(journal.append([appendOf(keyOf('a'), 1)])).rejects.toEqual(closed);
        await expect(collect(journal.read(keyOf('a'), 0))).rejects.toEqual(closed);
        await expect(collect(journal.unfinished())).rejects.toEqual(closed);
        await expect(journal.list(ANY_SESSION)).rejects.toEqual(closed);
      });
    });
  });
}
