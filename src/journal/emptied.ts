import { JournalError } from './journal-error.ts';
import { sizeIfThere } from './private-file.ts';

/**
 * Rejects where the database's file is empty, and something that an engine makes only after its database stands
 * beside it: what was recorded is gone, and to SQLite an empty file is a new one (7.4).
 */
export async function rejectEmptied(path: string, companions: readonly string[]): Promise<void> {
  if ((await sizeIfThere(path)) !== 0) return;
  for (const companion of companions) {
    if ((await sizeIfThere(companion)) === undefined) continue;
    throw new JournalError(
      'corrupt',
      `The journal ${path} is damaged: it is empty, but ${companion} tells that an engine has kept data here. ` +
        'Nothing was changed. Restore it, with its -wal file, from a backup, or remove the empty file to begin anew.',
    );
  }
}
