import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Code } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { FAILURE_CODES } from '../../src/core/failure.ts';
import type { RefusalReason } from '../../src/core/refusal.ts';
import { codeOf } from '../../src/rpc/status.ts';

const ROOT = resolve(import.meta.dirname, '../..');

function page(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The cells of the rows of a page whose first cell is code. */
function rows(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/^\| `([^`]+)` *\|(.*)\|$/gm)].map(([, key = '', rest = '']) => [
    key,
    ...rest.split('|').map((cell) => cell.trim()),
  ]);
}

describe('docs/errors.md', () => {
  const [calls = '', requests = ''] = page('docs/errors.md').split('## How requests are refused');

  it('4.8: explains every code of a failure, and no other', () => {
    expect(rows(calls).map(([code]) => code)).toEqual([...FAILURE_CODES]);
  });

  it('4.8: explains every reason of a refusal, with the status that it has', () => {
    const source = page('src/core/refusal.ts');
    const reasons = [...source.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, reason]) => reason as RefusalReason);
    expect(reasons.length).toBeGreaterThan(10);
    const statusName = (reason: RefusalReason) =>
      (Code[codeOf(reason)] ?? '').replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
    expect(rows(requests).map(([reason, status]) => [reason, status])).toEqual(
      reasons.map((reason) => [reason, statusName(reason)]),
    );
  });
});

describe('docs/operating.md', () => {
  it('has every setting, with its variable', () => {
    const sources = page('src/config.ts') + page('src/config/access.ts');
    const settings = [...sources.matchAll(/^ {2}(\w+): '(SPINDLE_\w+)',$/gm)].map(([, setting, variable]) => [
      setting,
      `\`${variable}\``,
    ]);
    const documented = rows(page('docs/operating.md')).map(([setting, variable]) => [setting, variable]);
    expect(settings.length).toBeGreaterThan(5);
    for (const setting of settings) expect(documented).toContainEqual(setting);
  });

  it('explains every event of the log, and no other', () => {
    const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' });
    const sources = files.filter((name) => name.endsWith('.ts')).map((name) => page(`src/${name}`));
    const reported = sources.flatMap((source) =>
      [...source.matchAll(/report\(\s*'(?:info|warn|error)',\s*'([^']+)'/g)].map(([, event = '']) => event),
    );
    const [, log = ''] = page('docs/operating.md').split('## The log');
    const explained = [...log.matchAll(/^\| (`.*?) *\| (?:info|warn|error)/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, event = '']) => event),
    );
    expect(reported.length).toBeGreaterThan(10);
    expect(explained.toSorted()).toEqual([...new Set(reported)].toSorted());
  });
});

describe('docs/cli.md', () => {
  it('has every exit code', () => {
    const codes = [...page('docs/cli.md').matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code));
    expect(codes).toEqual(Object.values(EXIT));
  });

  it('has every command', () => {
    const commands = [...page('src/cli/command-line.ts').matchAll(/await import\('\.\/(\w+)\.ts'\)/g)].map(
      ([, name]) => name,
    );
    const documented = [...page('docs/cli.md').matchAll(/^\| `spindle (\w+)/gm)].map(([, name]) => name);
    expect(commands.length).toBeGreaterThan(5);
    expect(documented.toSorted()).toEqual(commands.toSorted());
  });
});

describe('docs/architecture.md', () => {
  it('names every folder at the top and in src/, and every file in src/', () => {
    const [, layout = ''] = page('docs/architecture.md').split('## Layout');
    const [shown = ''] = layout.split('## Who may import whom');
    const named = new Set([...shown.matchAll(/^ {4,6}(\.?[\w.]+)\//gm)].map(([, name]) => name));
    for (const name of shown.matchAll(/^ {6}([\w-]+\.ts) /gm)) named.add(name[1]);
    const ignored = page('.gitignore').split('\n');
    const folders = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const top = folders
      .map(({ name }) => name)
      .filter((name) => name !== '.git' && !ignored.includes(name) && !ignored.includes(`${name}/`));
    expect(top).toContain('src');
    const missing = [...top, ...readdirSync(join(ROOT, 'src'))].filter((name) => !named.has(name));
    expect(missing).toEqual([]);
  });
});

describe('the pages', () => {
  const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)];

  it.each(pages)('%s links to what is there', (path) => {
    const links = [...page(path).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !existsSync(resolve(ROOT, dirname(path), link)))).toEqual([]);
  });

  it('are all linked by the README', () => {
    const readme = page('README.md');
    expect(pages.filter((path) => path !== 'README.md' && !readme.includes(`](${path})`))).toEqual([]);
  });
});
