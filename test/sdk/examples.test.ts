import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { gallery, refund, shop } from '../../examples/typescript/definition.ts';
import { createEngine } from '../../src/main.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const processes: ChildProcess[] = [];

afterEach(() => {
  for (const process of processes.splice(0)) process.kill('SIGKILL');
});

/** Runs an example as a user does. Resolves `line` with its first output, and `done` with all of it. */
function run(example: string, address: string) {
  const child = spawn(process.execPath, [`examples/typescript/${example}`, address], { cwd: root });
  processes.push(child);
  const first = Promise.withResolvers<string>();
  const lines: string[] = [];
  createInterface(child.stdout).on('line', (line) => {
    lines.push(line);
    first.resolve(line);
  });
  const errors: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
  const done = new Promise<{ code: number | null; lines: string[]; errors: string }>((resolve) => {
    child.on('close', (code) => {
      first.reject(new Error(`${example} ended with ${code}: ${errors.join('')}`));
      resolve({ code, lines, errors: errors.join('') });
    });
  });
  first.promise.catch(() => undefined);
  return { child, line: first.promise, done };
}

describe('the examples', () => {
  it('run: a worker, a client beside it, and a drain on SIGTERM (5.9)', async () => {
    const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
    try {
      const worker = run('worker.ts', engine.grpcAddress);
      expect(await worker.line).toBe('ready');
      const { code, lines, errors } = await run('client.ts', engine.grpcAddress).done;
      expect({ code, errors }).toEqual({ code: 0, errors: '' });
      // Progress is lossy: any of its lines may be missing.
      expect(lines.filter((line) => !/^progress: [123] left$/.test(line))).toEqual([
        'weather: 5, 6',
        'refused: invalid_arguments',
        'countdown: Lift-off!',
        'settled: recorded',
        'publish: published',
        'thrown: NOT_FOUND call_not_found',
      ]);
      worker.child.kill('SIGTERM');
      expect(await worker.done).toEqual({ code: 0, lines: ['ready', 'drained'], errors: '' });
    } finally {
      await engine.stop(0);
    }
  });

  it('bind agents: an engine takes them as they are defined', async () => {
    const engine = await createEngine({ journal: 'memory:', listen: '127.0.0.1:0', http: false });
    try {
      const worker = run('agent-worker.ts', engine.grpcAddress);
      expect(await worker.line).toBe('ready');
      worker.child.kill('SIGTERM');
      expect(await worker.done).toEqual({ code: 0, lines: ['ready', 'drained'], errors: '' });
    } finally {
      await engine.stop(0);
    }
  });

  it('embed an engine: engine, worker and caller in one process, which ends by itself', async () => {
    const { code, lines, errors } = await run('embedded.ts', '').done;
    expect({ code, lines, errors }).toEqual({ code: 0, lines: ['{"celsius":[5]}'], errors: '' });
  });

  it('define: every option is accepted', () => {
    expect(shop.tools.map(({ definition }) => definition.namespace)).toEqual(['shop', 'shop', 'shop']);
    expect(refund.definition.retry?.maxAttempts).toBe(3);
    expect(gallery.definition.inputSchemaJson).toBe('');
  });

  it('are what docs/sdk.md shows', () => {
    const page = readFileSync(new URL('../../docs/sdk.md', import.meta.url), 'utf8');
    const shown = [...page.matchAll(/```ts\n\/\/ (examples\/\S+)\n(.*?)```/gs)];
    expect(shown).toHaveLength([...page.matchAll(/```ts/g)].length);
    expect(shown.length).toBeGreaterThan(3);
    for (const [, file = '', code = ''] of shown) {
      expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain(code);
    }
  });
});
