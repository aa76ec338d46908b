import type { DatabaseSync } from 'node:sqlite';
import { DEFINITION_CLAIM_SESSIONS } from '../core/limits.ts';
import type { Digest } from '../engine/ports.ts';
import type { NamedDefinition } from './thread-protocol.ts';

/** Which sessions need which blobs. What writes belongs in the transaction of the events that refer to them. */
export interface SqliteReferences {
  add(session: number, tenant: string, digests: readonly Digest[]): void;
  /** Sessions up to this one, and some that follow, may name the definitions. */
  claim(definitions: readonly NamedDefinition[], newestSession: number): void;
  /** The session is gone. */
  remove(session: number): void;
  /** Forgets claims for sessions of which none is left. */
  tidy(): void;
  /** After the transaction, however it ended. */
  settle(how: 'committed' | 'rolled back'): void;
  unreferenced(tenant: string, digests: readonly Digest[]): readonly Digest[];
}

/**
 * A definition is named by nearly every call, so a row for each would cost more than the rest of a session's head.
 * Instead a definition is claimed for all sessions up to a number ahead of the newest, and kept while the oldest
 * session is not beyond it. That keeps a definition too long where one old session stays, and never too short.
 */
export function createSqliteReferences(database: DatabaseSync): SqliteReferences {
  const insert = database.prepare(
    'INSERT OR IGNORE INTO blob_references (session, tenant, digest) VALUES (?, ?, ?)',
  );
  const deleteOf = database.prepare('DELETE FROM blob_references WHERE session = ?');
  const findReference = database.prepare(
    'SELECT 1 FROM blob_references WHERE tenant = ? AND digest = ? LIMIT 1',
  );
  const writeClaim = database.prepare(
    'INSERT OR REPLACE INTO definition_references (tenant, digest, through_session) VALUES (?, ?, ?)',
  );
  const deleteClaims = database.prepare('DELETE FROM definition_references WHERE through_session < ?');
  const findOldest = database.prepare('SELECT min(id) AS id FROM sessions');

  /** By tenant and digest, as on disk. */
  const claims = new Map<string, number>();
  /** What the transaction under way changes. */
  let changes = new Map<string, number>();
  for (const row of database
    .prepare('SELECT tenant, digest, through_session FROM definition_references')
    .iterate()) {
    claims.set(nameOf(String(row['tenant']), String(row['digest'])), Number(row['through_session']));
  }

  function oldestSession(): number {
    return Number(findOldest.get()?.['id'] ?? Number.MAX_SAFE_INTEGER);
  }

  return {
    add(session, tenant, digests) {
      for (const digest of digests) insert.run(session, tenant, digest);
    },

    claim(definitions, newestSession) {
      for (const { tenant, digest } of definitions) {
        const name = nameOf(tenant, digest);
        if ((changes.get(name) ?? claims.get(name) ?? 0) >= newestSession) continue;
        const through = newestSession + DEFINITION_CLAIM_SESSIONS;
        writeClaim.run(tenant, digest, through);
        changes.set(name, through);
      }
    },

    remove(session) {
      deleteOf.run(session);
    },

    tidy() {
      const oldest = oldestSession();
      deleteClaims.run(oldest);
      for (const [name, through] of claims) if (through < oldest) changes.set(name, 0);
    },

    settle(how) {
      if (changes.size === 0) return;
      if (how === 'committed') {
        for (const [name, through] of changes) {
          if (through === 0) claims.delete(name);
          else claims.set(name, through);
        }
      }
      changes = new Map();
    },

    unreferenced(tenant, digests) {
      const oldest = oldestSession();
      const isClaimed = (name: string): boolean => (claims.get(name) ?? 0) >= oldest;
      if (isClaimed(EVERY_BLOB)) return [];
      return digests.filter(
        (digest) => !isClaimed(nameOf(tenant, digest)) && findReference.get(tenant, digest) === undefined,
      );
    },
  };
}

/** A digest has a fixed form without a space, so two names never meet. */
function nameOf(tenant: string, digest: string): string {
  return `${digest} ${tenant}`;
}

/** The claim of sessions that are older than the tables of references. */
const EVERY_BLOB = nameOf('', '');
