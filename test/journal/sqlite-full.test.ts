import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { JOURNAL_RESERVE_BYTES } from '../../src/core/limits.ts';
import type { Journal } from '../../src/engine/ports.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { appendOf, collect, ENDED, keyOf, RUNNING } from '../contract/session-events.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const FULL = { name: 'JournalError', kind: 'full', written: 'nothing' };
const KIB = 1024;

async function lengthOf(journal: Journal, sessionId: string): Promise<number> {
  return (await collect(journal.read(keyOf(sessionId), 0))).length;
}

describe('7.4: a SQLite journal without room', () => {
  it('refuses an append that does not fit, writes nothing of it, and goes on with one that does', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path, maxBytes: 256 * KIB, reserveBytes: 0 });
    await journal.append([appendOf(keyOf('a'), 0)]);
    const large = appendOf(keyOf('a'), 1, 4, RUNNING, 'x'.repeat(100 * KIB));
    await expect(journal.append([appendOf(keyOf('b'), 0), large])).rejects.toMatchObject({
      ...FULL,
      message: expect.stringContaining(path),
    });
    expect(await lengthOf(journal, 'a')).toBe(1);
    expect(await lengthOf(journal, 'b')).toBe(0);
    expect(await journal.append([appendOf(keyOf('a'), 1)])).toEqual([{ kind: 'appended' }]);
    await journal.close();
  });

  it('keeps everything that was appended before the last page was taken, and takes more with more room', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const small = await openSqliteJournal({ path, maxBytes: 256 * KIB, reserveBytes: 0 });
    let length = 0;
    const fill = async (): Promise<never> => {
      for (;;) {
        await small.append([appendOf(keyOf('a'), length, 1, RUNNING, 'x'.repeat(4 * KIB))]);
        length += 1;
      }
    };
    await expect(fill()).rejects.toMatchObject(FULL);
    expect(length).toBeGreaterThan(10);
    expect(await lengthOf(small, 'a')).toBe(length);
    await small.close();
    const large = await openSqliteJournal({ path, maxBytes: 1_024 * KIB, reserveBytes: 0 });
    expect(await lengthOf(large, 'a')).toBe(length);
    expect(await large.append([appendOf(keyOf('a'), length)])).toEqual([{ kind: 'appended' }]);
    await large.close();
  });

  it('refuses new sessions first: running ones still record how they end', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const roomy = await openSqliteJournal({ path });
    await roomy.append([appendOf(keyOf('running'), 0)]);
    await roomy.close();
    const journal = await openSqliteJournal({ path, maxBytes: JOURNAL_RESERVE_BYTES / 2 });
    const both = await Promise.allSettled([
      journal.append([appendOf(keyOf('new'), 0)]),
      journal.append([appendOf(keyOf('running'), 1)]),
    ]);
    expect(both).toMatchObject([
      { status: 'rejected', reason: { ...FULL, message: expect.stringContaining('no new ones begin') } },
      { status: 'fulfilled', value: [{ kind: 'appended' }] },
    ]);
    await journal.close();
  });

  it('4.12: takes new sessions again once old ones were pruned, in a file that may not grow', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path, maxBytes: 512 * KIB, reserveBytes: 128 * KIB });
    let count = 0;
    const fill = async (): Promise<never> => {
      for (;;) {
        await journal.append([appendOf(keyOf(`s${count}`), 0, 1, ENDED, 'x'.repeat(8 * KIB))]);
        count += 1;
      }
    };
    await expect(fill()).rejects.toMatchObject({
      ...FULL,
      message: expect.stringContaining('no new ones begin'),
    });
    const first = count;
    expect(first).toBeGreaterThan(20);
    const pruned = await journal.prune({ endedBefore: Number.MAX_SAFE_INTEGER, limit: first });
    expect(pruned.removed).toHaveLength(first);
    await expect(fill()).rejects.toMatchObject(FULL);
    expect(count - first).toBeGreaterThan(first / 2);
    expect(await lengthOf(journal, `s${count - 1}`)).toBe(1);
    await journal.close();
  });

  it('a prune that finds no room removes nothing, and the journal goes on', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path, maxBytes: 256 * KIB, reserveBytes: 0 });
    const fill = async (): Promise<never> => {
      for (let count = 0; ; count += 1) await journal.append([appendOf(keyOf(`s${count}`), 0, 1, ENDED)]);
    };
    await expect(fill()).rejects.toMatchObject(FULL);
    const [pruned] = await Promise.allSettled([
      journal.prune({ endedBefore: Number.MAX_SAFE_INTEGER, limit: 9 }),
    ]);
    // Whether the page for what is left over can be had is SQLite's business; nothing may be half done.
    const removed = pruned.status === 'fulfilled' ? pruned.value.removed.length : 0;
    expect(await lengthOf(journal, 's0')).toBe(removed > 0 ? 0 : 1);
    expect(await lengthOf(journal, 's99')).toBe(1);
    await journal.close();
  });
});
