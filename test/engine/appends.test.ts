import { describe, expect, it } from 'vitest';
import { MAX_COMMIT_APPENDS } from '../../src/core/limits.ts';
import { createAppends, type Settled } from '../../src/engine/appends.ts';
import type { Append, AppendOutcome, Journal } from '../../src/engine/ports.ts';
import { JournalError } from '../../src/journal/journal-error.ts';
import { createMemoryJournal } from '../../src/journal/memory.ts';

/** An append of which nothing but its place matters. */
function appendTo(sessionId: string, expectedSequence: number): Append {
  const head = { kind: 'call', name: 'tool', subject: 'anonymous', unfinished: true } as const;
  return { key: { tenant: 'default', sessionId }, expectedSequence, events: [], head };
}

/** Appends through a journal that answers as told, and what it was asked. */
function appending(answer: (batch: readonly Append[]) => Promise<readonly AppendOutcome[]>) {
  const batches: (readonly Append[])[] = [];
  const journal: Journal = {
    ...createMemoryJournal(),
    append(batch) {
      batches.push(batch);
      return answer(batch);
    },
  };
  const append = createAppends(journal);
  return {
    batches,
    append: (given: Append): Promise<Settled> => new Promise((resolve) => append(given, resolve)),
  };
}

const appended = async (batch: readonly Append[]): Promise<AppendOutcome[]> =>
  batch.map(() => ({ kind: 'appended' }));

describe('createAppends', () => {
  it('gives the journal in one call what was appended in one tick', async () => {
    const { batches, append } = appending(appended);
    await Promise.all([append(appendTo('a', 1)), append(appendTo('b', 5))]);
    await append(appendTo('a', 2));
    expect(batches.map((batch) => batch.map(({ key }) => key.sessionId))).toEqual([['a', 'b'], ['a']]);
  });

  it('7.4: keeps new sessions apart, so that a journal which refuses them records the running ones', async () => {
    const full = new Error('full');
    const { append } = appending(async (batch) => {
      if (batch.some(({ expectedSequence }) => expectedSequence === 0)) throw full;
      return appended(batch);
    });
    const settled = await Promise.all([append(appendTo('new', 0)), append(appendTo('running', 1))]);
    expect(settled).toEqual([{ kind: 'failed', error: full }, { kind: 'appended' }]);
  });

  it('7.4: damage to one session is not that of those that append with it', async () => {
    const damage = new JournalError('corrupt', 'sick is damaged');
    const { append } = appending(async (batch) => {
      if (batch.some(({ key }) => key.sessionId === 'sick')) throw damage;
      return appended(batch);
    });
    const settled = await Promise.all(['a', 'sick', 'b'].map((id) => append(appendTo(id, 1))));
    expect(settled).toEqual([{ kind: 'appended' }, { kind: 'failed', error: damage }, { kind: 'appended' }]);
  });

  it('tells each append its own outcome', async () => {
    const { append } = appending(async (batch) =>
      batch.map(({ key }) =>
        key.sessionId === 'stale' ? { kind: 'conflict', actualSequence: 7 } : { kind: 'appended' },
      ),
    );
    const settled = await Promise.all([append(appendTo('a', 1)), append(appendTo('stale', 1))]);
    expect(settled).toEqual([{ kind: 'appended' }, { kind: 'conflict', actualSequence: 7 }]);
  });

  it('makes no batch larger than a commit', async () => {
    const { batches, append } = appending(appended);
    const all = Array.from({ length: MAX_COMMIT_APPENDS + 1 }, (_, index) => append(appendTo(`${index}`, 1)));
    await Promise.all(all);
    expect(batches.map(({ length }) => length)).toEqual([MAX_COMMIT_APPENDS, 1]);
  });

  it('takes an append for failed that the journal said nothing about', async () => {
    const { append } = appending(async () => []);
    expect(await append(appendTo('a', 1))).toMatchObject({ kind: 'failed' });
  });
});
