import { JournalError, reasonOf } from './journal-error.ts';

// Primary result codes of SQLite (https://www.sqlite.org/rescode.html).
const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CONSTRAINT = 19;
const SQLITE_NOTADB = 26;

/** The primary result code of an error of node:sqlite; undefined for any other. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined;
  // The upper bytes of an extended code say more about the same thing.
  return error.errcode & 0xff;
}

export function isFull(error: unknown): boolean {
  return resultCode(error) === SQLITE_FULL;
}

/** A row stands where the head of its session says that none is. */
export function isConstraint(error: unknown): boolean {
  return resultCode(error) === SQLITE_CONSTRAINT;
}

/** What an error while opening means to the operator. */
export function openingError(error: unknown, path: string): JournalError {
  if (error instanceof JournalError) return error;
  switch (resultCode(error)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return new JournalError(
        'in_use',
        `The journal ${path} is in use by another engine. Stop that one, or give this one a journal of its own.`,
        error,
      );
    case SQLITE_NOTADB:
      return foreignFile(path, error);
    case SQLITE_CORRUPT:
      return corruptFile(error, path);
    case SQLITE_FULL:
      return new JournalError(
        'full',
        `There is no room to open the journal ${path}. Free disk space.`,
        error,
      );
    default:
      return unavailable(error, path);
  }
}

/** What an error while reading means. Writing has words of its own, because more follows from it. */
export function readingError(error: unknown, path: string): JournalError {
  if (error instanceof JournalError) return error;
  if (resultCode(error) === SQLITE_CORRUPT) return corruptFile(error, path);
  return new JournalError(
    'unavailable',
    `The journal ${path} could not be read: ${reasonOf(error)}. Look at the disk.`,
    error,
  );
}

/** A commit that broke off (7.4). */
export function failedCommit(error: unknown, path: string): JournalError {
  if (resultCode(error) === SQLITE_CORRUPT) {
    return new JournalError('failed', `${damage(error, path)} Nothing more is recorded. ${RESTORE}`, error);
  }
  return new JournalError(
    'failed',
    `The journal ${path} failed to commit: ${reasonOf(error)}. Whether its last events are on disk is unknown, ` +
      'so nothing more is recorded. Look at the disk, then start the engine again: it goes on from what is there.',
    error,
  );
}

export function corruptFile(error: unknown, path: string): JournalError {
  return new JournalError('corrupt', `${damage(error, path)} ${RESTORE}`, error);
}

function damage(error: unknown, path: string): string {
  return `The journal ${path} is damaged: ${reasonOf(error)}.`;
}

const RESTORE = 'Restore it, with its -wal file, from a backup.';

export function foreignFile(path: string, error?: unknown): JournalError {
  return new JournalError(
    'not_a_journal',
    `The file ${path} is not a database, or its first bytes are damaged. It was not changed. ` +
      'Name another file, or restore this one from a backup.',
    error,
  );
}

function unavailable(error: unknown, path: string): JournalError {
  return new JournalError(
    'unavailable',
    `The journal ${path} cannot be opened: ${reasonOf(error)}. ` +
      'Look at the path and at the rights of this user on the file and its directory.',
    error,
  );
}
