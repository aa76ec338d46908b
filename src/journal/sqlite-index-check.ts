import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { JournalError } from './journal-error.ts';
import { corruptFile } from './sqlite-error.ts';

/**
 * Throws where an index hides a session that recovery has to find: a lookup cannot notice what it does not find.
 *
 * Checking every session would take longer the more the journal holds. Two indexes name the unfinished ones,
 * each in a tree of its own, so that damage to one of them is told by the other. That recovery finds
 * the log of each is seen when it reads it, and ended sessions are checked while the engine runs.
 */
export function checkUnfinished(database: DatabaseSync, path: string): void {
  const sums = ['unfinished_sessions', 'unfinished_by_owner'].map((index) => {
    // The second sum tells apart what the first does not: two ids that changed by as much.
    const row = database
      .prepare(
        `SELECT count(*) AS count, total(id) AS sum, total(id * 2654435761 % 4294967296) AS mixed
         FROM sessions INDEXED BY ${index} WHERE unfinished = 1`,
      )
      .get();
    return JSON.stringify(row);
  });
  if (new Set(sums).size > 1) throw corruptFile('its indexes name different unfinished sessions', path);
}

/** What a step of the check found. */
export interface IndexChecked {
  readonly damage: JournalError | undefined;
  /** Every session was looked at, or there is no point in going on. */
  readonly done: boolean;
}

/** Sessions between two looks at the time. */
const SESSIONS_PER_LOOK = 16;

/**
 * Looks up each session in the indexes that lead to it, until a time (of performance.now) has come; the next call
 * goes on from there. Events need no such check: they are numbered and have checksums. Nor do sessions that are
 * written from now on: what they are looked for with has just been computed from them.
 */
export function createIndexCheck(database: DatabaseSync, path: string): (until: number) => IndexChecked {
  const select = database.prepare(
    `SELECT id, tenant, session_id, kind, subject, ended_at FROM sessions NOT INDEXED
     WHERE id > ? AND id <= ? ORDER BY id LIMIT ${SESSIONS_PER_LOOK}`,
  );
  const prepare = (index: string, filter: string) =>
    database.prepare(`SELECT id FROM sessions INDEXED BY ${index} WHERE ${filter} AND id = ?`);
  const byKey = prepare('sqlite_autoindex_sessions_1', 'tenant = ? AND session_id = ?');
  const byOwner = prepare('sessions_by_owner', 'tenant = ? AND kind = ? AND subject = ?');
  const byEnd = prepare('ended_sessions', 'ended_at = ?');
  const newestId = Number(database.prepare('SELECT max(id) AS id FROM sessions').get()?.['id'] ?? 0);
  let lastId = 0;

  function isFound(row: Record<string, SQLOutputValue>): boolean {
    const { id = 0, tenant = '', session_id = '', kind = '', subject = '', ended_at = null } = row;
    return (
      byKey.get(tenant, session_id, id) !== undefined &&
      byOwner.get(tenant, kind, subject, id) !== undefined &&
      (ended_at === null || byEnd.get(ended_at, id) !== undefined)
    );
  }

  return (until) => {
    do {
      const rows = select.all(lastId, newestId);
      for (const row of rows) {
        lastId = Number(row['id']);
        if (isFound(row)) continue;
        const what = `an index does not name session ${row['session_id']} of tenant ${row['tenant']}`;
        return { damage: corruptFile(what, path), done: true };
      }
      if (rows.length < SESSIONS_PER_LOOK) return { damage: undefined, done: true };
    } while (performance.now() < until);
    return { damage: undefined, done: false };
  };
}
