import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rejectEmptied } from '../../src/journal/emptied.ts';
import { temporaryDirectory } from './temporary-directory.ts';

async function directoryWith(files: Readonly<Record<string, string>>) {
  const directory = await temporaryDirectory();
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return { path: join(directory, 'journal.db'), companions: [join(directory, 'resume.key')] };
}

describe('rejectEmptied', () => {
  it('7.4: an empty database beside what an engine has kept is damage, not a new journal', async () => {
    const { path, companions } = await directoryWith({ 'journal.db': '', 'resume.key': 'secret' });
    await expect(rejectEmptied(path, companions)).rejects.toMatchObject({
      name: 'JournalError',
      kind: 'corrupt',
      message: expect.stringMatching(/it is empty, but .*resume\.key tells .* Restore it/),
    });
  });

  it.each([
    ['no database yet', { 'resume.key': 'secret' }],
    ['an empty database that stands alone', { 'journal.db': '' }],
    ['a database that is not empty', { 'journal.db': 'SQLite', 'resume.key': 'secret' }],
    ['nothing at all', {}],
  ])('lets pass %s', async (_, files) => {
    const { path, companions } = await directoryWith(files);
    await expect(rejectEmptied(path, companions)).resolves.toBeUndefined();
  });
});
