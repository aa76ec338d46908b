import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serve, spindle, start } from '../cli/spindle.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/agents.md'), 'utf8');

interface Shown {
  readonly command: string;
  readonly output: string;
}

/** The commands of the page with what it says that they print, in order. */
function shown(): readonly Shown[] {
  const blocks = [...PAGE.matchAll(/```console\n(.*?)```/gs)].map(([, block = '']) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ spindle /m)
      .slice(1)
      .map((part) => {
        const [command = '', ...output] = part.trimEnd().split('\n');
        return { command, output: output.join('\n') };
      }),
  );
}

/** The words of a command line, as a shell reads it. */
function words(command: string): readonly string[] {
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

/**
 * Lines in any order: two streams are read, and calls run side by side. Times and ids are as they happen to be, and
 * what a tool says that it does may be missing (6.13).
 */
function lines(text: string): readonly string[] {
  return text
    .trimEnd()
    .replaceAll(/^ {2}… .*\n/gm, '')
    .replaceAll(/find_order {2}(?:Looking for order |\{"number":)(\d+)\}?/g, 'find_order $1')
    .replaceAll(/\d+ ms$|\d+\.\d s$/gm, 'TIME')
    .replaceAll(/(spindle resume \S+) \S+/g, '$1 INTERRUPT')
    .replaceAll(/spindle settle \S+/g, 'spindle settle CALL')
    .replaceAll(/in session \S+/g, 'in session CHILD')
    .split('\n')
    .toSorted();
}

describe('docs/agents.md', () => {
  it('shows code that is in the examples', () => {
    const fences = [...PAGE.matchAll(/```ts\n\/\/ (examples\/\S+)\n(.*?)```/gs)];
    expect(fences).toHaveLength([...PAGE.matchAll(/```ts/g)].length);
    for (const [, file = '', code = ''] of fences)
      expect(readFileSync(join(ROOT, file), 'utf8')).toContain(code);
  });

  it('shows what its commands print', async () => {
    await using engine = await serve();
    const environment = { SPINDLE_ADDRESS: engine.address };
    await using worker = start(['worker', join(ROOT, 'examples/agent/orders.ts')], { environment });
    await worker.says(/serves at/);
    const ids = { INTERRUPT: '', CALL: '' };
    const commands = shown();
    expect(commands.length).toBeGreaterThan(5);
    for (const { command, output } of commands) {
      const args = words(command).map((word) => (word === 'INTERRUPT' || word === 'CALL' ? ids[word] : word));
      const { stdout, stderr } = await spindle(args, { environment });
      expect(lines(stdout + stderr), command).toEqual(lines(output));
      ids.INTERRUPT = /spindle resume \S+ (\S+)/.exec(stderr)?.[1] ?? '';
      ids.CALL = /spindle settle (\S+)/.exec(stderr)?.[1] ?? '';
    }
  });
});
