import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDirectory } from '../../src/journal/directory.ts';
import { temporaryDirectory } from './temporary-directory.ts';

describe('making a directory', () => {
  it('makes its parents too, for this user alone, and leaves what is there', async () => {
    const path = join(await temporaryDirectory(), 'a/b/c');
    await Promise.all([makeDirectory(path), makeDirectory(path)]);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
    await makeDirectory(path);
  });

  it('rejects where the file system takes no directories', async () => {
    await expect(makeDirectory('/proc/spindle/data')).rejects.toThrow('/proc/spindle');
  });
});
