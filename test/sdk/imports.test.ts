import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { SDK_NAME } from '../../src/sdk/version.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every module that a fresh process loads for an import, by its URL. */
function loadedBy(entry: string): string[] {
  const script = `
    const { registerHooks } = await import('node:module');
    const seen = [];
    registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
    await import(${JSON.stringify(new URL(`../../${entry}`, import.meta.url).href)});
    console.log(JSON.stringify(seen));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(run.stderr).toBe('');
  return JSON.parse(run.stdout);
}

describe('what an import of the SDK costs', () => {
  it.each(['src/sdk/worker/index.ts', 'src/sdk/index.ts'])(
    '%s loads messages and itself, and nothing of an engine',
    (entry) => {
      const loaded = loadedBy(entry);
      const packages = loaded.flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []);
      expect(new Set(packages)).toEqual(new Set(['@bufbuild/protobuf']));
      const folders = loaded.flatMap((url) => /\/src\/([^/]+)\//.exec(url)?.[1] ?? []);
      expect(new Set(folders)).toEqual(new Set(['sdk', 'core', 'schema']));
      const builtins = loaded.filter((url) => url.startsWith('node:'));
      expect(builtins).toEqual([]);
    },
  );

  it('the SDK names the version of its package', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(SDK_NAME).toBe(`spindle-ts/${version}`);
  });
});
