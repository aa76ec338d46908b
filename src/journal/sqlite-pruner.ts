import type { DatabaseSync } from 'node:sqlite';
import { MAX_PRUNED_BYTES, MAX_PRUNED_EVENTS } from '../core/limits.ts';
import type { Pruned, PruneQuery, SessionKey } from '../engine/ports.ts';
import { JournalError } from './journal-error.ts';
import { failedCommit, isFull } from './sqlite-error.ts';
import type { SqliteReferences } from './sqlite-references.ts';

export interface SqlitePruner {
  /** Throws a JournalError: 'full', after which all goes on; or 'failed', after which nothing does (7.4). */
  prune(query: PruneQuery): Pruned;
}

/**
 * A session goes at once, with its references; its events may take several calls, in which nobody can see them
 * any more. So a call takes about as long for a log of a million events as for a short one.
 */
export function createSqlitePruner(
  database: DatabaseSync,
  references: SqliteReferences,
  path: string,
): SqlitePruner {
  const begin = database.prepare('BEGIN IMMEDIATE');
  const commit = database.prepare('COMMIT');
  const findEnded = database.prepare(
    `SELECT id, tenant, session_id FROM sessions INDEXED BY ended_sessions
     WHERE ended_at < ? ORDER BY ended_at LIMIT ?`,
  );
  const findNamed = database.prepare(
    'SELECT id, tenant, session_id FROM sessions WHERE tenant = ? AND session_id = ?',
  );
  const findRemoved = database.prepare('SELECT session FROM removed_sessions LIMIT 1');
  const noteRemoved = database.prepare('INSERT INTO removed_sessions (session) VALUES (?)');
  const forgetRemoved = database.prepare('DELETE FROM removed_sessions WHERE session = ?');
  const deleteSession = database.prepare('DELETE FROM sessions WHERE id = ?');
  // The length of a blob stands before it: the pages of a long one are not read for it.
  const findEvents = database.prepare(
    'SELECT rowid AS id, length(event) AS size FROM events WHERE session = ? LIMIT ?',
  );
  const deleteEvent = database.prepare('DELETE FROM events WHERE rowid = ?');

  /** What is left for this call. */
  interface Budget {
    events: number;
    bytes: number;
  }

  /** Whether all are gone. */
  function deleteEvents(session: number, budget: Budget): boolean {
    // All are found before the first goes: a statement must not change what it walks over.
    const rows = findEvents.all(session, budget.events);
    for (const { id, size } of rows) {
      if (budget.events === 0 || budget.bytes <= 0) return false;
      deleteEvent.run(Number(id));
      budget.events -= 1;
      budget.bytes -= Number(size);
    }
    return budget.events > 0 && budget.bytes > 0;
  }

  function find(query: PruneQuery) {
    return 'limit' in query
      ? findEnded.all(query.endedBefore, query.limit)
      : findNamed.all(query.session.tenant, query.session.sessionId);
  }

  function deleteLeftovers(budget: Budget): boolean {
    for (let row = findRemoved.get(); row !== undefined; row = findRemoved.get()) {
      const session = Number(row['session']);
      if (!deleteEvents(session, budget)) return false;
      forgetRemoved.run(session);
    }
    return true;
  }

  function pruneWithin(query: PruneQuery): Pruned {
    const budget: Budget = { events: MAX_PRUNED_EVENTS, bytes: MAX_PRUNED_BYTES };
    const removed: SessionKey[] = [];
    // A session that somebody deletes is gone at once; what older ones left behind goes in its own time.
    if ('limit' in query && !deleteLeftovers(budget)) return { removed, more: true };
    const limit = 'limit' in query ? query.limit : 2;
    for (const row of find(query)) {
      const session = Number(row['id']);
      deleteSession.run(session);
      references.remove(session);
      removed.push({ tenant: String(row['tenant']), sessionId: String(row['session_id']) });
      if (deleteEvents(session, budget)) continue;
      noteRemoved.run(session);
      return { removed, more: true };
    }
    if (removed.length === limit) return { removed, more: true };
    references.tidy();
    return { removed, more: false };
  }

  return {
    prune(query) {
      let how: 'committed' | 'rolled back' = 'rolled back';
      try {
        begin.run();
        const pruned = pruneWithin(query);
        commit.run();
        how = 'committed';
        return pruned;
      } catch (error) {
        // SQLite has rolled back by itself after some errors; asking again would be an error.
        if (database.isTransaction) database.exec('ROLLBACK');
        if (!isFull(error)) throw failedCommit(error, path);
        throw new JournalError(
          'full',
          `The journal ${path} has no room to remove what is old: ${String(error)}. Free disk space.`,
        );
      } finally {
        references.settle(how);
      }
    },
  };
}
