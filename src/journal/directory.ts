import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** What an engine keeps is for its own user: logs and blobs hold what callers said. */
const PRIVATE_DIRECTORY_MODE = 0o700;

/** Makes a directory and its parents, durably. One that exists keeps its mode. */
export async function makeDirectory(path: string): Promise<void> {
  const wanted = resolve(path);
  const first = await mkdir(wanted, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  if (first === undefined) return;
  // A new directory is durable once its parent is, so every one from the first new one's parent on is synced.
  const last = dirname(resolve(first));
  for (let parent = dirname(wanted); ; parent = dirname(parent)) {
    await syncDirectory(parent);
    if (parent === last || parent === dirname(parent)) return;
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
