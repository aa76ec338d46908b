import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { KEYS_PER_PAGE, READ_PAGE_BYTES, SCANNED_SESSIONS } from '../core/limits.ts';
import type { ListQuery, SessionTally } from '../engine/ports.ts';
import { pieceChecksum, sessionSeed, sessionText } from './checksum.ts';
import { JournalError } from './journal-error.ts';
import { splitPiece } from './log-piece.ts';
import type { EventPage, IdPage, KeyPage, PageOrigin, ReadQuery } from './thread-protocol.ts';

export interface SqliteReader {
  /** Throws a JournalError of kind 'corrupt' where the log is not whole (7.4). */
  readEvents(query: ReadQuery): EventPage;
  readUnfinished(afterPosition: number): KeyPage;
  readIds(query: ListQuery, beforePosition: number | undefined): IdPage;
  tally(): readonly SessionTally[];
}

const NOTHING: PageOrigin = { session: 0, throughSequence: 0 };

export function createSqliteReader(database: DatabaseSync, path: string): SqliteReader {
  const findSession = database.prepare(
    `SELECT id, last_sequence, (SELECT max(sequence) FROM events WHERE session = sessions.id) AS newest
     FROM sessions WHERE tenant = ? AND session_id = ?`,
  );
  const selectPieces = database.prepare(
    `SELECT sequence, checksum, event, count FROM events
     WHERE session = ? AND sequence > ? AND sequence <= ? ORDER BY sequence`,
  );
  const selectUnfinished = database.prepare(
    `SELECT id, tenant, session_id FROM sessions INDEXED BY unfinished_sessions
     WHERE unfinished = 1 AND id > ? ORDER BY id LIMIT ${KEYS_PER_PAGE}`,
  );
  const selects = prepareLists(database);
  // From tenant to tenant, so that the calls between them, of which there may be millions, are not looked at.
  const selectTallies = database.prepare(
    `WITH RECURSIVE tenants (tenant) AS (
       SELECT min(tenant) FROM sessions
       UNION ALL
       SELECT (SELECT min(tenant) FROM sessions WHERE tenant > tenants.tenant) FROM tenants WHERE tenant IS NOT NULL
     )
     SELECT tenant, subject, count(*) AS sessions
     FROM tenants CROSS JOIN sessions INDEXED BY sessions_by_owner USING (tenant)
     WHERE kind = 'session' GROUP BY tenant, subject`,
  );

  function readEvents({ key, afterSequence, from }: ReadQuery): EventPage {
    const { tenant, sessionId } = key;
    const damage = (what: string): JournalError =>
      new JournalError(
        'corrupt',
        `The journal ${path} is damaged: ${what} of session ${sessionId} of tenant ${tenant}. ` +
          'The session is not used. Restore the journal, with its -wal file, from a backup.',
      );
    const session = findSession.get(tenant, sessionId);
    if (from !== undefined && session?.['id'] !== from.session) throw pruned(sessionId);
    if (session === undefined) return pageOf([], NOTHING);
    const last = Number(session['last_sequence']);
    if (session['newest'] !== last) throw damage(`event ${last} should be the last one`);
    const origin = from ?? { session: Number(session['id']), throughSequence: last };
    const through = origin.throughSequence;
    const seed = sessionSeed(sessionText(tenant, sessionId));
    const events: Uint8Array[] = [];
    let sequence = afterSequence;
    let size = 0;
    for (const row of selectPieces.iterate(origin.session, afterSequence, through)) {
      const { event, checksum } = row;
      const count = Number(row['count']);
      const last = Number(row['sequence']);
      const first = last - count + 1;
      // The reader may go on from within what one append wrote.
      if (sequence === afterSequence ? first > sequence + 1 : first !== sequence + 1) {
        throw damage(`event ${sequence + 1} is missing`);
      }
      if (!(event instanceof Uint8Array) || pieceChecksum(seed, last, count, event) !== checksum) {
        throw damage(`the checksum does not fit event ${count === 1 ? last : `${first} to ${last}`}`);
      }
      events.push(...splitPiece(event, count).slice(sequence + 1 - first));
      sequence = last;
      size += event.length;
      if (size >= READ_PAGE_BYTES) return pageOf(events, origin);
    }
    if (sequence < through) throw damage(`event ${sequence + 1} is missing`);
    return pageOf(events, origin);
  }

  function pruned(sessionId: string): JournalError {
    return new JournalError(
      'unavailable',
      `Session ${sessionId} was removed from the journal ${path} while it was read, because it was old. Read it again.`,
    );
  }

  function readUnfinished(afterPosition: number): KeyPage {
    const rows = selectUnfinished.all(afterPosition);
    const keys = rows.map((row) => ({ tenant: String(row['tenant']), sessionId: String(row['session_id']) }));
    return { keys, nextPosition: rows.length < KEYS_PER_PAGE ? undefined : Number(rows.at(-1)?.['id']) };
  }

  function readIds(query: ListQuery, beforePosition = Number.MAX_SAFE_INTEGER): IdPage {
    const { tenant, kind, subject, name, onlyUnfinished, limit } = query;
    const { all, unfinished, anybodys } = selects;
    const ofOwner = onlyUnfinished ? unfinished : all;
    if (subject === undefined) return scanIds(query, anybodys.all(beforePosition, SCANNED_SESSIONS));
    if (name !== undefined) {
      return scanIds(query, ofOwner.all(tenant, kind, subject, beforePosition, SCANNED_SESSIONS));
    }
    // One more than asked for tells whether another page follows.
    const rows = ofOwner.all(tenant, kind, subject, beforePosition, limit + 1);
    const shown = rows.slice(0, limit);
    return {
      sessionIds: shown.map((row) => String(row['session_id'])),
      nextPosition: rows.length > limit ? Number(shown.at(-1)?.['id']) : undefined,
    };
  }

  /**
   * No index holds the sessions of a tenant in order, nor those of a name: each would cost every new call something,
   * and such lists are rare. So a page looks at SCANNED_SESSIONS rows, whoever's they are, and the next one goes on
   * behind them.
   */
  function scanIds({ tenant, kind, name, onlyUnfinished, limit }: ListQuery, rows: readonly Row[]): IdPage {
    const sessionIds: string[] = [];
    for (const row of rows) {
      const wanted =
        row['tenant'] === tenant &&
        row['kind'] === kind &&
        (name === undefined || row['name'] === name) &&
        (!onlyUnfinished || row['unfinished'] === 1);
      if (wanted) sessionIds.push(String(row['session_id']));
      if (sessionIds.length === limit) return { sessionIds, nextPosition: Number(row['id']) };
    }
    const last = rows.length < SCANNED_SESSIONS ? undefined : Number(rows.at(-1)?.['id']);
    return { sessionIds, nextPosition: last };
  }

  function tally(): readonly SessionTally[] {
    return selectTallies.all().map((row) => ({
      tenant: String(row['tenant']),
      subject: String(row['subject']),
      sessions: Number(row['sessions']),
    }));
  }

  return { readEvents, readUnfinished, readIds, tally };
}

type Row = Record<string, SQLOutputValue>;

/** Lists of one owner, each bound to an index that holds its rows in order; and one of everybody's sessions. */
function prepareLists(database: DatabaseSync) {
  const columns = 'id, tenant, session_id, kind, name, unfinished';
  const prepare = (index: string, filter: string): StatementSync =>
    database.prepare(
      `SELECT ${columns} FROM sessions INDEXED BY ${index}
       WHERE tenant = ? AND kind = ? AND subject = ? ${filter} AND id < ? ORDER BY id DESC LIMIT ?`,
    );
  return {
    all: prepare('sessions_by_owner', ''),
    unfinished: prepare('unfinished_by_owner', 'AND unfinished = 1'),
    anybodys: database.prepare(`SELECT ${columns} FROM sessions WHERE id < ? ORDER BY id DESC LIMIT ?`),
  };
}

function pageOf(events: readonly Uint8Array[], from: PageOrigin): EventPage {
  const sizes = Uint32Array.from(events, (event) => event.length);
  const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
  let offset = 0;
  for (const event of events) {
    bytes.set(event, offset);
    offset += event.length;
  }
  return { sizes, bytes, from };
}
