import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keptSecret } from '../../src/journal/kept-secret.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const FIRST = Buffer.alloc(32, 1);
const SECOND = Buffer.alloc(32, 2);

describe('a secret that is kept', () => {
  it('5.8: is the same for the next process, and its own user alone may read it', async () => {
    const path = join(await temporaryDirectory(), 'resume.key');
    expect(await keptSecret(path, FIRST)).toEqual(FIRST);
    expect(await keptSecret(path, SECOND)).toEqual(FIRST);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('is made anew where a crash left a part of it', async () => {
    const path = join(await temporaryDirectory(), 'resume.key');
    await writeFile(path, FIRST.subarray(0, 7));
    expect(await keptSecret(path, SECOND)).toEqual(SECOND);
    expect(await keptSecret(path, FIRST)).toEqual(SECOND);
  });

  it('is not replaced where it cannot be read', async () => {
    const path = join(await temporaryDirectory(), 'resume.key');
    await mkdir(path);
    await expect(keptSecret(path, FIRST)).rejects.toMatchObject({ code: 'EISDIR' });
  });
});
