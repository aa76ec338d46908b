import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as limits from '../../src/core/limits.ts';
import { explainInput } from '../../src/schema/explain.ts';
import { ENFORCED_FORMATS } from '../../src/schema/formats.ts';
import { REPAIR_STEPS } from '../../src/schema/repair.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { check, definedTool } from './tools.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/schemas.md'), 'utf8');
const flat = page.replaceAll(/\s+/g, ' ');

describe('docs/schemas.md', () => {
  // The formatter pads the columns.
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (`+) ?(.+?) ?\2 +\| `(.+)` +\|$/gm)];

  it('1.7: shows every step of the ladder, in order', () => {
    expect(rows.map((row) => row[1])).toEqual(REPAIR_STEPS);
  });

  it.each(rows.map((row) => [row[1] ?? '', row[3] ?? '', row[4] ?? ''] as const))(
    '1.7: the example of %s is what happens',
    (step, from, to) => {
      expect(check(undefined, from, { repair: true })).toMatchObject({
        status: 'valid',
        value_json: to,
        repairs: [step],
      });
    },
  );

  it('2.3: lists the formats that are enforced', () => {
    const paragraph = /Enforced: (.+?)\. Every other/.exec(flat)?.[1] ?? '';
    const listed = [...paragraph.matchAll(/`([\w-]+)`/g)].map((match) => match[1]);
    expect(listed.toSorted()).toEqual([...ENFORCED_FORMATS.keys()].toSorted());
  });

  it.each([
    [limits.MAX_SUBSCHEMAS, 'schemas inside one schema | '],
    [limits.MAX_SCHEMA_DEFINITIONS, 'places that references lead to | '],
    [limits.MAX_SCHEMA_PATTERNS, 'different patterns | '],
    [limits.MAX_SCHEMA_WIDTH, '`dependentRequired` | '],
    [limits.MAX_JSON_KEYS, '1 MiB of UTF-8, 64 levels, '],
    [limits.MAX_CHECK_STEPS, 'one check | '],
    [limits.MAX_PATTERN_CHARS, 'patterns over '],
  ])('2.3: names the limit %i', (limit, before) => {
    expect(flat).toContain(`${before}${limit.toLocaleString('en')}`);
  });

  it.each(['{"days":15}', '{"city":"Tokyo"'])('1.9: shows what a model reads for %s', (text) => {
    const schemas = createSchemas();
    const schema = { properties: { days: { maximum: 14 }, city: { type: 'string' } }, required: ['city'] };
    const definition = definedTool(schemas, { inputSchemaJson: JSON.stringify(schema) });
    const input = schemas.checkArguments(definition, text, { repair: false, stoppedForLength: false });
    expect(flat).toContain(explainInput('weather', input));
  });
});
