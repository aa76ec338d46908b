import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { hasCode } from './private-file.ts';

/** As PRIVATE_FILE_MODE, for what holds such files. */
const PRIVATE_DIRECTORY_MODE = 0o700;

/**
 * Makes a directory and its parents, durably. One that exists keeps its mode. One by one: the recursive form of
 * mkdir never returns where a file system, such as /proc, takes no directories.
 */
export async function makeDirectory(path: string): Promise<void> {
  const missing: string[] = [];
  for (let at = resolve(path); !(await exists(at)); at = dirname(at)) missing.unshift(at);
  for (const directory of missing) {
    await mkdir(directory, { mode: PRIVATE_DIRECTORY_MODE }).catch((error: unknown) => {
      // Somebody else made it meanwhile.
      if (!hasCode(error, 'EEXIST')) throw error;
    });
    await syncDirectory(dirname(directory));
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Makes the names in a directory durable: a file that was synced can still lose its name in a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
