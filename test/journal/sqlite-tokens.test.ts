import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { describeTokenStore, recordOf } from '../contract/tokens.ts';
import { temporaryDirectory } from './temporary-directory.ts';

describeTokenStore('sqlite', async () => {
  const journal = await openSqliteJournal({ path: join(await temporaryDirectory(), 'journal.db') });
  onTestFinished(() => journal.close());
  return journal.tokens;
});

describe('tokens in the file of a journal', () => {
  it('9.2: outlive the process that made them', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const first = await openSqliteJournal({ path });
    await first.tokens.put(recordOf('a'));
    await first.close();
    const second = await openSqliteJournal({ path });
    expect(await second.tokens.load()).toEqual([recordOf('a')]);
    await second.close();
    expect((await readFile(path)).includes('weather_*')).toBe(true);
  });

  it.each([
    ['a role that nobody has', `UPDATE tokens SET role = 'god'`],
    ['globs that are none', `UPDATE tokens SET tools = '{}'`],
    ['a hash that is text', `UPDATE tokens SET hash = x''`],
  ])('are not taken for others when they are damaged: %s', async (_what, damage) => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const journal = await openSqliteJournal({ path });
    await journal.tokens.put(recordOf('a'));
    await journal.close();
    const database = new DatabaseSync(path);
    database.exec(damage);
    database.close();
    const damaged = await openSqliteJournal({ path });
    onTestFinished(() => damaged.close());
    await expect(damaged.tokens.load()).rejects.toMatchObject({ kind: 'corrupt' });
  });
});
