import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { JournalError } from './journal-error.ts';

/** Marks the file as a journal of Spindle: "SPDL" in ASCII, in the header of the database. */
export const APPLICATION_ID = 0x5350444c;

/**
 * The tables of a journal:
 *
 * - `sessions`: a row for each. Ids grow, and none is given twice while anything of its session is left.
 * - `events`: the logs, a row for what one append wrote: `count` events, of which the last one has the sequence.
 * - `removed_sessions`: sessions that are gone already, whose events still go.
 * - `blob_references`: what the events of a session refer to.
 * - `definition_references`: the sessions up to this one may name the definition.
 * - `tokens`: who may connect. Globs are arrays of JSON.
 *
 * What brings a journal from one version of the schema to the next; `PRAGMA user_version` counts those that
 * were applied. An entry never changes once it was released: a change of the schema is one more entry.
 *
 * Both tables have rowids on purpose. A table WITHOUT ROWID would keep whole events in the index's tree, where
 * every insertion in the middle moves them; here rows are written one after the other at the end of the table.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    unfinished INTEGER NOT NULL,
    UNIQUE (tenant, session_id)
  ) STRICT;
  CREATE TABLE events (
    session INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    event BLOB NOT NULL,
    UNIQUE (session, sequence)
  ) STRICT;
  CREATE INDEX sessions_by_owner ON sessions (tenant, kind, subject, id);
  CREATE INDEX sessions_by_name ON sessions (tenant, kind, subject, name, id);
  CREATE INDEX unfinished_sessions ON sessions (id) WHERE unfinished = 1;
  CREATE INDEX unfinished_by_owner ON sessions (tenant, kind, subject, id) WHERE unfinished = 1;
  CREATE INDEX unfinished_by_name ON sessions (tenant, kind, subject, name, id) WHERE unfinished = 1;
  `,
  // Retention. Sessions that ended before have no time of their end: they are kept as if they ended now. Nor is it
  // known what they refer to, so the row without a digest stands for every blob, as long as one of them is there.
  `
  ALTER TABLE sessions ADD COLUMN ended_at INTEGER;
  UPDATE sessions SET ended_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) WHERE unfinished = 0;
  CREATE INDEX ended_sessions ON sessions (ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE removed_sessions (session INTEGER PRIMARY KEY) STRICT;
  CREATE TABLE blob_references (
    session INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (session, digest)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX blob_references_by_digest ON blob_references (tenant, digest);
  CREATE TABLE definition_references (
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    through_session INTEGER NOT NULL,
    PRIMARY KEY (tenant, digest)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO definition_references SELECT '', '', max(id) FROM sessions HAVING max(id) IS NOT NULL;
  `,
  `
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    role TEXT NOT NULL,
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    tools TEXT NOT NULL,
    agents TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL,
    revoked_at REAL
  ) STRICT;
  `,
  // A conversation that owes nothing has not ended: only its owner removes it (4.12).
  `
  UPDATE sessions SET ended_at = NULL WHERE kind <> 'call';
  `,
  // A row for each append in place of one for each event. And every call wrote two indexes over names for lists
  // that are rarely asked for.
  `
  ALTER TABLE events ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
  DROP INDEX sessions_by_name;
  DROP INDEX unfinished_by_name;
  `,
];

/** Whether the database has our tables, of whatever version: a new one has none. */
export function isJournal(database: DatabaseSync): boolean {
  return database.prepare('PRAGMA application_id').get()?.['application_id'] === APPLICATION_ID;
}

/** Throws for a database that is no journal, before anything of it was changed. */
export function checkIdentity(database: DatabaseSync, path: string): void {
  if (isJournal(database)) return;
  const { application_id: id } = database.prepare('PRAGMA application_id').get() ?? {};
  const { count } = database.prepare('SELECT count(*) AS count FROM sqlite_schema').get() ?? {};
  if (id === 0 && count === 0) return;
  throw new JournalError(
    'not_a_journal',
    `The file ${path} is a database, but not a journal of Spindle. It was not changed. Name another file.`,
  );
}

/** Applies what is missing, all of it or nothing. Where nothing is, nothing is written. */
export function migrate(database: DatabaseSync, path: string, migrations = MIGRATIONS): void {
  if (isJournal(database) && versionOf(database) === migrations.length) return;
  database.exec('BEGIN IMMEDIATE');
  try {
    const version = versionOf(database);
    if (typeof version !== 'number' || version > migrations.length) {
      throw new JournalError(
        'unknown_version',
        `The journal ${path} has version ${version} of the schema; this Spindle knows versions up to ` +
          `${migrations.length}. Run the Spindle that wrote it, or a newer one. The file was not changed.`,
      );
    }
    for (const migration of migrations.slice(version)) database.exec(migration);
    // Pragmas take no parameters; both values are numbers of our own.
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function versionOf(database: DatabaseSync): SQLOutputValue | undefined {
  return database.prepare('PRAGMA user_version').get()?.['user_version'];
}
