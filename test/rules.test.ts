import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

/** The sections of docs/protocol.md that are built. A section joins the list with its first rule. */
const BUILT_SECTIONS = [1, 2, 3, 4, 5, 6, 7, 9];
/** Rules of those sections that are not built yet; docs/roadmap.md says when they will be. */
const NOT_BUILT = new Set<string>();

const root = resolve(import.meta.dirname, '..');

/** The numbers of the rules on the page, in order. */
function rulesOf(page: string): string[] {
  return [...page.matchAll(/^(\d+\.\d+) /gm)].flatMap((match) => match[1] ?? []);
}

/** The rules that titles of tests name: `it('4.5: …')`, also several, as in `it.each(…)('2.1, 2.2: …')`. */
function rulesNamedBy(source: string): string[] {
  const titles = source.matchAll(/\(\s*[`'"](\d+\.\d+(?:(?:, | and )\d+\.\d+)*): /g);
  return [...titles].flatMap(([, rules = '']) => rules.match(/\d+\.\d+/g) ?? []);
}

/** The rules that a transcript begins with: `# 6.1: …`. */
function rulesOfTitle(source: string): string[] {
  const [, rules = ''] = /^# (\d+\.\d+(?:, \d+\.\d+)*): /m.exec(source) ?? [];
  return rules.match(/\d+\.\d+/g) ?? [];
}

function transcripts(): string[] {
  const folder = join(root, 'test/transcripts');
  return readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
}

function testSources(): string[] {
  return readdirSync(join(root, 'test'), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}

describe('the rules of docs/protocol.md', () => {
  const rules = rulesOf(readFileSync(join(root, 'docs/protocol.md'), 'utf8'));
  const named = new Set([...testSources().flatMap(rulesNamedBy), ...transcripts().flatMap(rulesOfTitle)]);

  it('are each named by the title of a test, in every section that is built', () => {
    const built = rules.filter((rule) => BUILT_SECTIONS.includes(Number(rule.split('.')[0])));
    expect(built.length).toBeGreaterThan(40);
    expect(built.filter((rule) => !named.has(rule) && !NOT_BUILT.has(rule))).toEqual([]);
  });

  it('are all on the page that tests name', () => {
    expect([...named].filter((rule) => !rules.includes(rule))).toEqual([]);
  });

  it('that are not built are not claimed by a test', () => {
    expect([...NOT_BUILT].filter((rule) => named.has(rule))).toEqual([]);
  });
});
