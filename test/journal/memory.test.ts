import { describe, expect, it } from 'vitest';
import { createMemoryJournal } from '../../src/journal/memory.ts';
import { describeJournal } from '../contract/journal.ts';
import { describeRetention } from '../contract/journal-retention.ts';
import { appendOf, collect, ENDED, keyOf, RUNNING } from '../contract/session-events.ts';

describeJournal('memory', async () => createMemoryJournal());
describeRetention('memory', async () => createMemoryJournal());

describe('the memory journal', () => {
  it('gives the events themselves, for nobody changes them', async () => {
    const journal = createMemoryJournal();
    const append = appendOf(keyOf('a'), 0);
    await journal.append([append]);
    const [event] = await collect(journal.read(keyOf('a'), 0));
    expect(event).toBe(append.events[0]);
  });

  it('keeps a bounded number of ended sessions and drops the one that ended first', async () => {
    const journal = createMemoryJournal({ maxEndedSessions: 2 });
    await journal.append(['a', 'b', 'c', 'd'].map((id) => appendOf(keyOf(id), 0)));
    for (const id of ['c', 'a', 'b']) await journal.append([appendOf(keyOf(id), 1, 1, ENDED)]);
    const query = {
      tenant: 'acme',
      kind: 'call',
      subject: 'ann',
      onlyUnfinished: false,
      limit: 9,
    } as const;
    expect((await journal.list(query))?.sessionIds).toEqual(['d', 'b', 'a']);
    expect(await collect(journal.read(keyOf('c'), 0))).toEqual([]);
  });

  it('never drops a session that owes something, also one that ended before', async () => {
    const journal = createMemoryJournal({ maxEndedSessions: 1 });
    await journal.append([appendOf(keyOf('a'), 0, 1, ENDED)]);
    await journal.append([appendOf(keyOf('a'), 1, 1, RUNNING)]);
    await journal.append([appendOf(keyOf('b'), 0, 1, ENDED), appendOf(keyOf('c'), 0, 1, ENDED)]);
    expect(await collect(journal.read(keyOf('a'), 0))).toHaveLength(2);
    expect(await collect(journal.read(keyOf('b'), 0))).toEqual([]);
  });

  it('lists in order while most of an owner is dropped', async () => {
    const journal = createMemoryJournal({ maxEndedSessions: 10 });
    const ids = Array.from({ length: 200 }, (_, index) => `s${index}`);
    for (const id of ids) await journal.append([appendOf(keyOf(id), 0, 1, ENDED)]);
    const query = {
      tenant: 'acme',
      kind: 'call',
      subject: 'ann',
      onlyUnfinished: false,
      limit: 50,
    } as const;
    expect((await journal.list(query))?.sessionIds).toEqual(ids.slice(-10).reverse());
  });
});
