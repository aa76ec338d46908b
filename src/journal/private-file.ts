import { open, readFile, stat } from 'node:fs/promises';

/** What an engine keeps is for its own user: logs and blobs hold what callers said. */
export const PRIVATE_FILE_MODE = 0o600;

/** Makes a file, or replaces what it holds. Its bytes are durable when this resolves; its name may not be. */
export async function writeDurably(path: string, bytes: Uint8Array, flag: 'w' | 'wx'): Promise<void> {
  const file = await open(path, flag, PRIVATE_FILE_MODE);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Undefined where there is no file. */
export async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** In bytes. Undefined where there is no file. */
export async function sizeIfThere(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Whether an error is the system's, with this name. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
