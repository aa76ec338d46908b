import { execFile } from 'node:child_process';
import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { serve, spindle, start, temporaryFolder } from '../cli/spindle.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const README = await readFile(join(ROOT, 'README.md'), 'utf8');

/** The fence that begins so. */
function fence(beginning: string): string {
  const fences = [...README.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code);
  const found = fences.find((code) => code.startsWith(beginning));
  if (found === undefined) throw new Error(`README.md has no code that begins with ${beginning}`);
  return found;
}

/** The arguments of the command of the README that begins so. */
function command(beginning: string): readonly string[] {
  const line = README.split('\n').find((text) => text.startsWith(`npx spindle ${beginning}`));
  if (line === undefined) throw new Error(`README.md has no command spindle ${beginning}`);
  const words = line.replace(/ +#.*/, '').matchAll(/'([^']*)'|(\S+)/g);
  return [...words].map(([, quoted, plain]) => quoted ?? plain ?? '').slice(2);
}

describe('README.md', () => {
  it('shows the agent of the examples', async () => {
    expect(await readFile(join(ROOT, 'examples/agent/librarian.ts'), 'utf8')).toBe(
      fence('import { readFile }'),
    );
  });

  it('leads to a running agent, to a program that asks it, and to a tool without a model', async () => {
    // The project's folder, as far as the five minutes need it.
    await using folder = await temporaryFolder();
    for (const name of ['README.md', 'package.json']) await cp(join(ROOT, name), join(folder.path, name));
    for (const name of ['src', 'gen', 'docs', 'node_modules']) {
      await symlink(join(ROOT, name), join(folder.path, name));
    }
    const agent = fence('import { readFile }');
    await writeFile(
      join(folder.path, 'librarian.ts'),
      agent.replace('const countWords', 'export const countWords'),
    );
    await using engine = await serve();
    const surroundings = { folder: folder.path, environment: { SPINDLE_ADDRESS: engine.address } };
    await using worker = start(command('worker'), surroundings);
    await worker.says(/agent librarian/);

    const wordsOf = async (name: string) =>
      String((await readFile(join(ROOT, name), 'utf8')).match(/\S+/g)?.length);
    const answer = await spindle(command('run'), surroundings);
    expect(answer.code).toBe(0);
    expect(answer.stdout).toContain(await wordsOf('README.md'));
    expect(answer.stdout).toContain(await wordsOf('docs/cli.md'));
    expect((await spindle(command('sessions'), surroundings)).stdout).toMatch(/librarian .*idle/);
    const called = await spindle(command('call count_words'), surroundings);
    expect(JSON.parse(called.stdout)).toEqual({ words: Number(await wordsOf('README.md')) });

    const program = fence('import { createClient }').replace(
      'createClient()',
      `createClient({ address: '${engine.address}' })`,
    );
    await writeFile(join(folder.path, 'ask.ts'), program);
    const { stdout } = await promisify(execFile)(process.execPath, ['ask.ts'], { cwd: folder.path });
    expect(stdout).toContain(await wordsOf('README.md'));
  });
});
