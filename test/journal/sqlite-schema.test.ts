import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { pieceChecksum, sessionSeed, sessionText } from '../../src/journal/checksum.ts';
import { encodePieces } from '../../src/journal/event-codec.ts';
import { openSqliteJournal } from '../../src/journal/sqlite.ts';
import { checkIdentity, MIGRATIONS, migrate } from '../../src/journal/sqlite-schema.ts';
import { appendOf, collect, ENDED, eventOf, keyOf } from '../contract/session-events.ts';
import { temporaryDirectory } from './temporary-directory.ts';

function versionOf(database: DatabaseSync): unknown {
  return database.prepare('PRAGMA user_version').get()?.['user_version'];
}

const STEPS = [
  'CREATE TABLE first (id INTEGER PRIMARY KEY)',
  'ALTER TABLE first ADD COLUMN added TEXT; INSERT INTO first (added) VALUES (1)',
  'INSERT INTO first (added) VALUES (2)',
];

describe('migrate', () => {
  it('brings an empty database to the newest version, and marks it as a journal', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, 'journal.db');
    expect(versionOf(database)).toBe(MIGRATIONS.length);
    expect(() => checkIdentity(database, 'journal.db')).not.toThrow();
  });

  it.each([0, 1, 2, 3])('from version %d, only what is missing is applied', (version) => {
    const database = new DatabaseSync(':memory:');
    migrate(database, 'journal.db', STEPS.slice(0, version));
    migrate(database, 'journal.db', STEPS);
    expect(versionOf(database)).toBe(3);
    expect(database.prepare('SELECT added FROM first').all()).toHaveLength(2);
  });

  it('a step that fails leaves the version before it, and nothing of the steps', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, 'journal.db', STEPS.slice(0, 1));
    expect(() => migrate(database, 'journal.db', [...STEPS, 'CREATE TABLE first (id)'])).toThrow(/first/);
    expect(versionOf(database)).toBe(1);
    expect(database.prepare('SELECT * FROM first').all()).toEqual([]);
  });

  it('a newer version is refused', () => {
    const database = new DatabaseSync(':memory:');
    migrate(database, 'journal.db', STEPS);
    expect(() => migrate(database, 'journal.db', STEPS.slice(0, 2))).toThrow(
      expect.objectContaining({ kind: 'unknown_version' }),
    );
  });
});

describe('a journal of version 1', () => {
  const FIRST = MIGRATIONS.slice(0, 1);

  /** The file of an engine before retention: one session that ended, one that runs. */
  async function makeFirst(): Promise<string> {
    const path = join(await temporaryDirectory(), 'journal.db');
    const database = new DatabaseSync(path);
    migrate(database, path, FIRST);
    for (const [id, sessionId, unfinished] of [
      [1, 'ended', 0],
      [2, 'running', 1],
    ] as const) {
      database
        .prepare('INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
        .run(id, 'acme', sessionId, 'call', 'helper', 'ann', 1, unfinished);
      const [bytes = new Uint8Array()] = encodePieces([[eventOf(sessionId, 1)]]);
      const checksum = pieceChecksum(sessionSeed(sessionText('acme', sessionId)), 1, 1, bytes);
      database.prepare('INSERT INTO events VALUES (?, 1, ?, ?)').run(id, checksum, bytes);
    }
    database.close();
    return path;
  }

  it('opens, with everything that was in it', async () => {
    const journal = await openSqliteJournal({ path: await makeFirst() });
    for (const id of ['ended', 'running']) {
      expect(await collect(journal.read(keyOf(id), 0))).toEqual([eventOf(id, 1)]);
    }
    expect(await collect(journal.unfinished())).toEqual([keyOf('running')]);
    await journal.close();
  });

  it('4.12: keeps what ended before as if it ended now, for its end was not kept', async () => {
    const before = Date.now();
    const journal = await openSqliteJournal({ path: await makeFirst() });
    expect(await journal.prune({ endedBefore: before, limit: 9 })).toEqual({ removed: [], more: false });
    const later = { endedBefore: Date.now() + 1, limit: 9 };
    expect((await journal.prune(later)).removed).toEqual([keyOf('ended')]);
    await journal.close();
  });

  it('3.3: takes every blob for referenced until its sessions are gone', async () => {
    const journal = await openSqliteJournal({ path: await makeFirst() });
    const later = { endedBefore: Number.MAX_SAFE_INTEGER, limit: 9 };
    await journal.prune(later);
    expect(await journal.unreferenced('acme', ['a', 'b'])).toEqual([]);
    await journal.append([appendOf(keyOf('running'), 1, 1, ENDED), appendOf(keyOf('new'), 0)]);
    await journal.prune(later);
    expect(await journal.unreferenced('acme', ['a', 'b'])).toEqual(['a', 'b']);
    await journal.close();
  });
});
