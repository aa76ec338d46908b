import { open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDirectory } from './directory.ts';
import { hasCode, PRIVATE_FILE_MODE } from './private-file.ts';
import { foreignFile } from './sqlite-error.ts';
import { checkUnfinished } from './sqlite-index-check.ts';
import { checkIdentity, isJournal, migrate } from './sqlite-schema.ts';
import { checkWal } from './wal-check.ts';

/** One page of the smallest size. */
const SMALLEST_DATABASE_BYTES = 512;
/**
 * The pages of the indexes that every append touches stay in memory: 16 MiB, in the unit of the pragma. SQLite walks
 * over all of them at a commit that split a page, so more would cost more than it saves.
 */
const CACHE_KIB = 16 * 1024;

/**
 * Opens the file, for this connection alone, or throws. The lock is taken before anything is changed, and held
 * until the process ends, however it ends (7.3).
 */
export async function openDatabase(path: string, maxBytes: number | undefined): Promise<DatabaseSync> {
  await makeDirectory(dirname(path));
  await createFile(path);
  await checkWal(path);
  // Waiting for a lock would only put off the news: an engine keeps it for as long as it runs.
  const database = new DatabaseSync(path, {
    timeout: 0,
    defensive: true,
    enableForeignKeyConstraints: false,
  });
  try {
    prepareDatabase(database, path, maxBytes);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function prepareDatabase(database: DatabaseSync, path: string, maxBytes: number | undefined): void {
  // Exclusive first: the write-ahead log then needs no shared memory, and the first read takes the lock.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  checkIdentity(database, path);
  database.exec('PRAGMA journal_mode = WAL');
  // NORMAL would answer before the log is on disk, which is not durable (7.1).
  database.exec('PRAGMA synchronous = FULL');
  // The writer checkpoints by itself: SQLite's own checkpoints hide that they failed (7.4).
  database.exec('PRAGMA wal_autocheckpoint = 0');
  database.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON');
  if (maxBytes !== undefined) {
    database.exec(`PRAGMA max_page_count = ${Math.ceil(maxBytes / pageBytes(database))}`);
  }
  // Before anything is written: a damaged file is left as it is.
  if (isJournal(database)) checkUnfinished(database, path);
  migrate(database, path);
  // An empty log at the start lets `checkWal` tell a damaged log from a torn end after the next crash.
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

export function pageBytes(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA page_size').get()?.['page_size']);
}

/**
 * SQLite would create the file by the umask. Only a new file is opened here: closing any descriptor of a file
 * drops the locks that this process has on it, also those of another journal in the same process.
 */
async function createFile(path: string): Promise<void> {
  try {
    const handle = await open(path, 'wx', PRIVATE_FILE_MODE);
    await handle.close();
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    const found = await stat(path);
    // SQLite takes a file of one byte for an empty one, and would write over it.
    if (found.isFile() && found.size > 0 && found.size < SMALLEST_DATABASE_BYTES) throw foreignFile(path);
  }
}
