import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { STEPS } from '../../examples/demo/record.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../examples');

interface Played {
  readonly code: unknown;
  readonly stdout: string;
}

async function play(script: string, args: readonly string[]): Promise<Played> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [join(EXAMPLES, script), ...args]);
    return { code: 0, stdout };
  } catch (error) {
    return { code: -1, stdout: '', ...(error as object) };
  }
}

function demo(...args: readonly string[]): Promise<Played> {
  return play('demo/demo.ts', args);
}

describe('npm run demo', () => {
  it('7.1: plays the turns of an agent, one across a killed engine, and finds them as they should be', async () => {
    const { code, stdout } = await play('agent/demo.ts', ['--model', 'local/demo']);
    expect(code).toBe(0);
    expect([...stdout.matchAll(/^ {4}([✓✗]) /gm)].map(([, mark]) => mark)).toEqual(['✓', '✓', '✓']);
    expect(stdout).toContain('There are');
  });

  it('leaves with 1 where the model does not do its part', async () => {
    const { code, stdout } = await play('agent/demo.ts', ['--model', 'nothing/at-all']);
    expect(code).toBe(1);
    expect(stdout).toContain('Not as it should be');
  });
});

describe('npm run demo:calls', () => {
  it('leaves with 0, and has every step judged', async () => {
    const { code, stdout } = await demo();
    expect(code).toBe(0);
    for (const step of STEPS) expect(stdout).toMatch(new RegExp(`✓ ${step} `));
  });

  it.each(STEPS)('leaves with 1 where %s is broken, and only that one is found wanting', async (step) => {
    const { code, stdout } = await demo('--break', step);
    expect(code).toBe(1);
    const judged = [...stdout.matchAll(/^ {4}([✓✗]) ([a-z]+) {2,}/gm)].map(([, mark, name]) => [mark, name]);
    expect(judged).toEqual(STEPS.map((name) => [name === step ? '✗' : '✓', name]));
  });

  it('leaves with 2 for a step that there is not', async () => {
    expect((await demo('--break', 'nothing')).code).toBe(2);
  });
});
