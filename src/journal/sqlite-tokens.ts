import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { GRANTED_ROLES } from '../core/rights.ts';
import type { TokenRecord } from '../engine/ports.ts';
import { JournalError } from './journal-error.ts';
import { failedCommit, isFull } from './sqlite-error.ts';

/** The tokens of a journal's file, in its thread. */
export interface SqliteTokens {
  load(): readonly TokenRecord[];
  /** Throws a JournalError: of kind 'full' where nothing was written. */
  put(record: TokenRecord): void;
  remove(id: string): void;
}

export function createSqliteTokens(database: DatabaseSync, path: string): SqliteTokens {
  const selectAll = database.prepare('SELECT * FROM tokens ORDER BY created_at, id');
  const replace = database.prepare(
    `INSERT OR REPLACE INTO tokens
     (id, hash, role, tenant, subject, tools, agents, created_at, expires_at, revoked_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const removeOne = database.prepare('DELETE FROM tokens WHERE id = ?');

  const write = (run: () => unknown): void => {
    try {
      run();
    } catch (error) {
      if (!isFull(error)) throw failedCommit(error, path);
      throw new JournalError('full', `The journal ${path} has no room for a token. Free disk space.`);
    }
  };

  return {
    load: () => selectAll.all().map((row) => recordOf(row, path)),
    put(record) {
      const { id, hash, role, tenant, subject, tools, agents, createdAt, expiresAt, revokedAt } = record;
      write(() =>
        replace.run(
          id,
          hash,
          role,
          tenant,
          subject,
          JSON.stringify(tools),
          JSON.stringify(agents),
          createdAt,
          expiresAt ?? null,
          revokedAt ?? null,
        ),
      );
    },
    remove: (id) => write(() => removeOne.run(id)),
  };
}

/** SHA-256. */
const HASH_BYTES = 32;

function recordOf(row: Record<string, SQLOutputValue>, path: string): TokenRecord {
  const { id, hash, expires_at: expiresAt, revoked_at: revokedAt } = row;
  const role = GRANTED_ROLES.find((granted) => granted === row['role']);
  // A token that cannot be read whole must not be taken for one with other rights.
  if (role === undefined || !(hash instanceof Uint8Array) || hash.byteLength !== HASH_BYTES) {
    throw new JournalError('corrupt', `The token ${String(id)} in the journal ${path} is damaged.`);
  }
  return {
    id: String(id),
    hash,
    role,
    tenant: String(row['tenant']),
    subject: String(row['subject']),
    tools: globsOf(row['tools'], path),
    agents: globsOf(row['agents'], path),
    createdAt: Number(row['created_at']),
    ...(expiresAt === null ? {} : { expiresAt: Number(expiresAt) }),
    ...(revokedAt === null ? {} : { revokedAt: Number(revokedAt) }),
  };
}

function globsOf(text: SQLOutputValue | undefined, path: string): readonly string[] {
  const globs: unknown = JSON.parse(String(text));
  if (Array.isArray(globs) && globs.every((glob) => typeof glob === 'string')) return globs;
  throw new JournalError('corrupt', `The rights of a token in the journal ${path} are damaged.`);
}
