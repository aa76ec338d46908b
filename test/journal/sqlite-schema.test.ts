import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { checkIdentity, MIGRATIONS, migrate } from '../../src/journal/sqlite-schema.ts';

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
