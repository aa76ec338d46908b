import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { project } from '../../src/schema/projection/project.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/models.md');

/** The cells of the rows of the table under a heading, without the head. */
function table(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = page.split(`## ${heading}\n`);
  const [first = ''] = section.split('\n## ');
  const rows = first.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('docs/models.md', () => {
  it('has every setting of a provider, and every kind', () => {
    const source = read('src/config/providers.ts');
    const settings = [...source.matchAll(/^ {6}(\w+): z\.|^ {6}(timeout): duration/gm)].map(
      ([, key, other]) => key ?? other,
    );
    expect(settings.length).toBeGreaterThan(5);
    for (const setting of settings) expect(page).toContain(`\`${setting}\``);
    const kinds = /const KINDS = \[([^\]]+)\]/.exec(source)?.[1]?.match(/[\w-]+/g) ?? [];
    expect(kinds.length).toBeGreaterThan(4);
    for (const kind of kinds) expect(page).toContain(`\`${kind}\``);
  });

  it('has every setting of an agent', () => {
    const settings = [...read('src/models/call-settings.ts').matchAll(/^ {2}(\w+): z/gm)].map(
      ([, key]) => key,
    );
    expect(settings.length).toBeGreaterThan(8);
    for (const setting of settings) expect(page).toContain(`\`${setting}\``);
  });

  /** Each column of the table, as a kind of provider and whether the tool is strict. */
  const COLUMNS = [
    ['anthropic', false],
    ['anthropic', true],
    ['openai', false],
    ['openai', true],
    ['google', false],
  ] as const;
  const SAMPLES: Readonly<Record<string, object>> = {
    '`anyOf`': { anyOf: [{ type: 'string' }, { type: 'number' }] },
    '`oneOf`': { oneOf: [{ type: 'string' }, { type: 'number' }] },
    '`const`': { const: 'a' },
    '`multipleOf`': { type: 'number', multipleOf: 2 },
    '`minimum`, `maximum`': { type: 'number', minimum: 2 },
    '`minLength`, `maxLength`': { type: 'string', minLength: 2 },
    '`exclusiveMinimum`, `exclusiveMaximum`': { type: 'number', exclusiveMinimum: 2 },
    '`enum` of other than texts and numbers': { enum: ['a', null] },
    'an array without `items`': { type: 'array' },
    'a map: `additionalProperties` with a schema': {
      type: 'object',
      additionalProperties: { type: 'string' },
    },
  };

  it.each(Object.entries(SAMPLES))('says what becomes of %s', (row, schema) => {
    const [, ...cells] = table('What a provider is told of a schema').find(([name]) => name === row) ?? [];
    const became = COLUMNS.map(([kind, strict]) => {
      const projection = project(
        kind,
        JSON.stringify({ type: 'object', properties: { p: schema }, required: ['p'] }),
        strict,
      );
      if (projection.kind === 'impossible') return 'left out';
      const told = (projection.projected.schema['properties'] as { p: object }).p;
      if (strict && !projection.projected.strict) return 'no strict form';
      if (JSON.stringify(told) === JSON.stringify(schema)) return 'kept';
      const added = Object.keys(told).find((keyword) => !(keyword in schema));
      if (added === undefined) return 'left out';
      return added === 'items' ? 'items of any type' : `said as \`${added}\``;
    });
    expect(cells.map((cell) => cell.replace(', `maximum`', ''))).toEqual(became);
  });
});
