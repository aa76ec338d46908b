import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { STEPS } from '../../examples/demo/record.ts';

const DEMO = resolve(import.meta.dirname, '../../examples/demo/demo.ts');

async function demo(
  ...args: readonly string[]
): Promise<{ readonly code: unknown; readonly stdout: string }> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [join(DEMO), ...args]);
    return { code: 0, stdout };
  } catch (error) {
    return { code: -1, stdout: '', ...(error as object) };
  }
}

describe('npm run demo', () => {
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
