import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { ToolError } from 'spindle/worker';

/** Files below one folder of this machine, and nothing else. */
export interface Folder {
  /** The files below a folder, as paths from the root, in order. */
  list(folder: string): Promise<string[]>;
  read(path: string): Promise<string>;
  /** Makes a new file; one that is there is never overwritten. */
  create(path: string, text: string): Promise<void>;
}

/** More text than this is no note, and too much for a model. */
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_FILES = 1_000;

/** Opens a folder. Rejects where there is none. */
export async function openFolder(path: string): Promise<Folder> {
  const root = await realpath(path);

  /** A path that exists, with every link followed, so that none leads out of the folder. */
  async function existing(given: string): Promise<string> {
    const wanted = resolve(root, given);
    const real = await realpath(wanted).catch(() => {
      throw new ToolError(`There is no ${given}.`, { code: 'not_found' });
    });
    return inside(real, given);
  }

  function inside(real: string, given: string): string {
    if (real === root || real.startsWith(root + sep)) return real;
    throw new ToolError(`${given} is outside the folder.`, { code: 'outside' });
  }

  return {
    async list(folder) {
      const start = await existing(folder);
      const found: string[] = [];
      const pending = [start];
      for (let next = pending.pop(); next !== undefined && found.length < MAX_FILES; next = pending.pop()) {
        const entries = await readdir(next, { withFileTypes: true }).catch(() => {
          throw new ToolError(`${folder} is no folder.`, { code: 'not_a_folder' });
        });
        for (const entry of entries) {
          if (entry.isDirectory()) pending.push(join(next, entry.name));
          // Links are left out: what they lead to may be anywhere.
          else if (entry.isFile()) found.push(relative(root, join(next, entry.name)));
        }
      }
      return found.sort().slice(0, MAX_FILES);
    },
    async read(given) {
      const path = await existing(given);
      // Without waiting for a writer, where the name is a pipe's.
      const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const stat = await file.stat();
        if (!stat.isFile()) throw new ToolError(`${given} is no file.`, { code: 'not_a_file' });
        if (stat.size > MAX_FILE_BYTES)
          throw new ToolError(`${given} is too large to read.`, { code: 'too_large' });
        return await file.readFile('utf8');
      } finally {
        await file.close();
      }
    },
    async create(given, text) {
      const wanted = resolve(root, given);
      inside(wanted, given);
      const folder = await existing(relative(root, dirname(wanted)) || '.');
      const path = join(folder, basename(wanted));
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      const file = await open(path, flags, 0o600).catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'EEXIST'
          ? new ToolError(`${given} is there already.`, { code: 'exists' })
          : error;
      });
      try {
        await file.writeFile(text);
      } finally {
        await file.close();
      }
    },
  };
}
