import { copyFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import type { Journal } from '../../src/engine/ports.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { MIGRATIONS } from '../../src/journal/sqlite-schema.ts';
import { appendOf, collect, keyOf, RUNNING } from '../contract/session-events.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const CORRUPT = { name: 'JournalError', kind: 'corrupt' };
const EVENTS = 50;

/** The path of a closed journal with two sessions, `sick` and `well`, of fifty events each, a row for each. */
async function makeJournal(): Promise<string> {
  const path = join(await temporaryDirectory(), 'journal.db');
  const journal = await openSqliteJournal({ path });
  for (const id of ['sick', 'well']) {
    for (let sequence = 0; sequence < EVENTS; sequence += 1) {
      await journal.append([appendOf(keyOf(id), sequence, 1, RUNNING, `text of ${id} ${'x'.repeat(500)}`)]);
    }
  }
  await journal.close();
  return path;
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

/** Changes a journal behind the back of one of its indexes, as a lost page does. */
function withoutIndex(path: string, index: string, sql: string): void {
  const edit = (change: (database: DatabaseSync) => void): void => {
    const database = new DatabaseSync(path, { defensive: false });
    database.exec('PRAGMA writable_schema = ON');
    change(database);
    database.close();
  };
  let row: Record<string, SQLOutputValue> = {};
  edit((database) => {
    // What the schema does not name keeps its pages, and nobody maintains it.
    row = database.prepare('SELECT * FROM sqlite_schema WHERE name = ?').get(index) ?? {};
    database.prepare('DELETE FROM sqlite_schema WHERE name = ?').run(index);
  });
  edit((database) => database.exec(sql));
  edit((database) => {
    database
      .prepare('INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)')
      .run(row['type'] ?? null, index, row['tbl_name'] ?? null, row['rootpage'] ?? null, row['sql'] ?? null);
  });
}

/** Flips a bit in every copy of a text in a file. (Pages keep stale copies of what was moved elsewhere.) */
async function flip(path: string, text: string): Promise<void> {
  const bytes = await readFile(path);
  let count = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text)) {
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    count += 1;
  }
  expect(count).toBeGreaterThan(0);
  await writeFile(path, bytes);
}

async function expectWell(journal: Journal): Promise<void> {
  expect(await collect(journal.read(keyOf('well'), 0))).toHaveLength(EVENTS);
}

describe('7.4: a damaged SQLite journal', () => {
  it('a flipped bit of an event stops its session with a clear error, and no other', async () => {
    const path = await makeJournal();
    await flip(path, 'text of sick');
    const journal = await openSqliteJournal({ path });
    await expect(collect(journal.read(keyOf('sick'), 0))).rejects.toMatchObject({
      ...CORRUPT,
      message: expect.stringMatching(/checksum does not fit event \d+ of session sick of tenant acme/),
    });
    await expectWell(journal);
    await journal.close();
  });

  it('a flipped bit of what one append wrote names all of its events', async () => {
    const path = join(await temporaryDirectory(), 'journal.db');
    const first = await openSqliteJournal({ path });
    await first.append([appendOf(keyOf('sick'), 0, 3, RUNNING, 'text of sick')]);
    await first.close();
    await flip(path, 'text of sick');
    const journal = await openSqliteJournal({ path });
    await expect(collect(journal.read(keyOf('sick'), 0))).rejects.toMatchObject({
      ...CORRUPT,
      message: expect.stringContaining('checksum does not fit event 1 to 3 of session sick'),
    });
    await journal.close();
  });

  it.each([
    ['a number of events that is another', 'UPDATE events SET count = 2 WHERE session = 1 AND sequence = 1'],
    ['one that would hide those before', 'UPDATE events SET count = 2 WHERE session = 1 AND sequence = 9'],
  ])('%s is noticed, too', async (_, sql) => {
    const path = await makeJournal();
    change(path, sql);
    const journal = await openSqliteJournal({ path });
    await expect(collect(journal.read(keyOf('sick'), 0))).rejects.toMatchObject(CORRUPT);
    await expectWell(journal);
    await journal.close();
  });

  it.each([
    ['a missing event in the middle', 'DELETE FROM events WHERE session = 1 AND sequence = 20', 'event 20'],
    ['a missing first event', 'DELETE FROM events WHERE session = 1 AND sequence = 1', 'event 1 '],
    ['a missing last event', 'DELETE FROM events WHERE session = 1 AND sequence = 50', 'event 50'],
    ['a log that is gone', 'DELETE FROM events WHERE session = 1', 'event 50'],
    ['a head that fell back', 'UPDATE sessions SET last_sequence = 49 WHERE id = 1', 'event 49'],
    [
      'two events that changed places',
      `UPDATE events SET sequence = 99 WHERE session = 1 AND sequence = 3;
       UPDATE events SET sequence = 3 WHERE session = 1 AND sequence = 4;
       UPDATE events SET sequence = 4 WHERE session = 1 AND sequence = 99`,
      'event 3 ',
    ],
    [
      'an event of another session',
      `UPDATE events SET (checksum, event) = (SELECT checksum, event FROM events WHERE session = 2 AND sequence = 7)
       WHERE session = 1 AND sequence = 7`,
      'event 7 ',
    ],
  ])('%s is noticed when the session is read', async (_, sql, where) => {
    const path = await makeJournal();
    change(path, sql);
    const journal = await openSqliteJournal({ path });
    await expect(collect(journal.read(keyOf('sick'), 0))).rejects.toMatchObject({
      ...CORRUPT,
      message: expect.stringContaining(where),
    });
    await expectWell(journal);
    await journal.close();
  });

  it('a head that fell back cannot be appended to, while other sessions can', async () => {
    const path = await makeJournal();
    change(path, 'UPDATE sessions SET last_sequence = 49 WHERE id = 1');
    const journal = await openSqliteJournal({ path });
    const [sick, well] = await Promise.allSettled([
      journal.append([appendOf(keyOf('sick'), 49)]),
      journal.append([appendOf(keyOf('well'), 50)]),
    ]);
    expect(sick).toMatchObject({ status: 'rejected', reason: { ...CORRUPT, written: 'nothing' } });
    expect(well).toMatchObject({ status: 'fulfilled', value: [{ kind: 'appended' }] });
    await journal.close();
  });

  it.each(['unfinished_sessions', 'unfinished_by_owner'])(
    '7.2: an index that hides an unfinished session from recovery is noticed at opening: %s',
    async (index) => {
      const path = await makeJournal();
      withoutIndex(path, index, "UPDATE sessions SET unfinished = 1 - unfinished WHERE session_id = 'sick'");
      await expect(openSqliteJournal({ path })).rejects.toMatchObject({
        ...CORRUPT,
        message: expect.stringContaining(
          `${path} is damaged: its indexes name different unfinished sessions`,
        ),
      });
    },
  );

  /** What the journal tells its operator by itself. */
  async function noticeOf(path: string) {
    const noticed = Promise.withResolvers<Readonly<Record<string, string | number>>>();
    const journal = await openSqliteJournal({
      path,
      observer: { report: (_, event, facts) => event === 'journal_damaged' && noticed.resolve(facts) },
    });
    const facts = await noticed.promise;
    await expectWell(journal);
    await journal.close();
    return facts;
  }

  it.each([
    ['sessions_by_owner', `UPDATE sessions SET subject = 'bob' WHERE session_id = 'sick'`],
    ['ended_sessions', `UPDATE sessions SET unfinished = 0, ended_at = 7 WHERE session_id = 'sick'`],
  ])('an index that hides any session is noticed while the journal is in use: %s', async (index, sql) => {
    const path = await makeJournal();
    withoutIndex(path, index, sql);
    expect(await noticeOf(path)).toEqual({
      path,
      message: expect.stringContaining('an index does not name session sick of tenant acme'),
    });
  });

  it('so is an id that is another one in the index over ids', async () => {
    const path = await makeJournal();
    // The first copy: the table's or the index's.
    const bytes = await readFile(path);
    const at = bytes.indexOf('acmesick');
    bytes.write('acmesack', at);
    await writeFile(path, bytes);
    expect(await noticeOf(path)).toEqual({
      path,
      message: expect.stringMatching(/an index does not name session s[ia]ck of tenant acme/),
    });
  });

  it('a file that was cut is noticed', async () => {
    const path = await makeJournal();
    const { size } = await stat(path);
    for (const left of [size - 4_096, 40_960, 5_000, 512]) {
      await truncate(path, left);
      await expect(openSqliteJournal({ path }), String(left)).rejects.toMatchObject({
        name: 'JournalError',
        kind: expect.stringMatching(/^(corrupt|not_a_journal)$/),
      });
    }
  });

  /** A journal, of which pages from one on, counted from 1, are overwritten. */
  async function overwritten(from: number, through: number): Promise<{ path: string; bytes: Buffer }> {
    const path = await makeJournal();
    const bytes = await readFile(path);
    bytes.fill(0x5a, (from - 1) * 4_096, Math.min(through * 4_096, bytes.length));
    await writeFile(path, bytes);
    return { path, bytes };
  }

  it.each([
    ['all but the first page', 2, 1_000],
    ['the second half', 12, 1_000],
    ['the table of sessions', 2, 2],
  ])(
    'pages that are none are refused, with what to do, and left as they were: %s',
    async (_, from, through) => {
      const { path, bytes } = await overwritten(from, through);
      await expect(openSqliteJournal({ path })).rejects.toMatchObject({
        ...CORRUPT,
        message: expect.stringMatching(/is damaged: .* Restore it, with its -wal file, from a backup\.$/),
      });
      expect((await readFile(path)).equals(bytes)).toBe(true);
    },
  );

  it('a commit that meets such a page ends the journal with the same advice', async () => {
    // The index over the ids of sessions, which only a new session reads.
    const { path } = await overwritten(3, 3);
    const journal = await openSqliteJournal({ path });
    await expect(journal.append([appendOf(keyOf('new'), 0)])).rejects.toMatchObject({
      name: 'JournalError',
      kind: 'failed',
      message: expect.stringMatching(/is damaged: .* Restore it, with its -wal file, from a backup\.$/),
    });
    await journal.close();
  });

  it('opening a whole journal writes nothing to it', async () => {
    const path = await makeJournal();
    const before = await readFile(path);
    await (await openSqliteJournal({ path })).close();
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  it.each(['a text file that somebody keeps here', 'x', 'x'.repeat(10_000)])(
    'a file that is no database is refused and left as it was: %j',
    async (text) => {
      const path = join(await temporaryDirectory(), 'notes.txt');
      await writeFile(path, text);
      await expect(openSqliteJournal({ path })).rejects.toMatchObject({ kind: 'not_a_journal' });
      expect(await readFile(path, 'utf8')).toBe(text);
    },
  );

  it('a database of something else is refused and left as it was', async () => {
    const path = join(await temporaryDirectory(), 'other.db');
    change(path, 'CREATE TABLE things (id INTEGER PRIMARY KEY)');
    const before = await readFile(path);
    await expect(openSqliteJournal({ path })).rejects.toMatchObject({ kind: 'not_a_journal' });
    expect((await readFile(path)).equals(before)).toBe(true);
  });

  it('a journal of a newer version is refused, with both versions in the message', async () => {
    const path = await makeJournal();
    change(path, 'PRAGMA user_version = 999');
    await expect(openSqliteJournal({ path })).rejects.toMatchObject({
      kind: 'unknown_version',
      message: expect.stringMatching(new RegExp(`version 999 .* up to ${MIGRATIONS.length}\\b`)),
    });
  });

  describe('its write-ahead log', () => {
    /** A journal as a crash leaves it: the database, and ten commits in the log beside it. */
    async function makeCrashed(): Promise<string> {
      const directory = await temporaryDirectory();
      const live = join(directory, 'live.db');
      const path = join(directory, 'journal.db');
      const journal = await openSqliteJournal({ path: live });
      for (let sequence = 0; sequence < 10; sequence += 1) {
        await journal.append([appendOf(keyOf('a'), sequence, 1, RUNNING, `text ${sequence}`)]);
      }
      await copyFile(live, path);
      await copyFile(`${live}-wal`, `${path}-wal`);
      await journal.close();
      return path;
    }

    async function lengthAfterOpening(path: string): Promise<number> {
      const journal = await openSqliteJournal({ path });
      const { length } = await collect(journal.read(keyOf('a'), 0));
      await journal.close();
      return length;
    }

    it('brings back what a crash left in it', async () => {
      expect(await lengthAfterOpening(await makeCrashed())).toBe(10);
    });

    it('damage that later commits follow is noticed, and nothing is forgotten', async () => {
      const path = await makeCrashed();
      await flip(`${path}-wal`, 'text 2');
      const before = await readFile(`${path}-wal`);
      await expect(openSqliteJournal({ path })).rejects.toMatchObject({
        ...CORRUPT,
        message: expect.stringContaining(`${path}-wal`),
      });
      expect((await readFile(`${path}-wal`)).equals(before)).toBe(true);
    });

    it('so is a broken header', async () => {
      const path = await makeCrashed();
      const bytes = await readFile(`${path}-wal`);
      bytes.writeUInt8(bytes.readUInt8(17) ^ 1, 17);
      await writeFile(`${path}-wal`, bytes);
      await expect(openSqliteJournal({ path })).rejects.toMatchObject(CORRUPT);
    });

    it('so is a database that was emptied under it', async () => {
      const path = await makeCrashed();
      await truncate(path, 0);
      await expect(openSqliteJournal({ path })).rejects.toMatchObject(CORRUPT);
    });

    it('a torn end is what a crash leaves: the commit before it is the last', async () => {
      const path = await makeCrashed();
      const { size } = await stat(`${path}-wal`);
      await truncate(`${path}-wal`, size - 100);
      expect(await lengthAfterOpening(path)).toBe(9);
    });
  });
});
