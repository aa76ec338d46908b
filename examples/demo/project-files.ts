import { readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { ToolError } from 'spindle/worker';
import { ROOT } from './record.ts';

/** Reads a text file of the project. A model may write any path, so one that leads out of it is refused. */
export async function readProjectFile(path: string): Promise<string> {
  return readFile(await projectPath(path), 'utf8');
}

/** The paths of the project's files under a folder, in the order of their names. */
export async function projectFiles(folder: string, extension: string): Promise<readonly string[]> {
  const entries = await readdir(await projectPath(folder), { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(extension))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort();
}

async function projectPath(path: string): Promise<string> {
  const absolute = await realpath(resolve(ROOT, path)).catch(() => undefined);
  if (absolute === undefined || !`${absolute}${sep}`.startsWith(`${await realpath(ROOT)}${sep}`)) {
    throw new ToolError(`${path} is no file of this project.`, { code: 'no_such_file' });
  }
  return absolute;
}

export function wordsIn(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}
