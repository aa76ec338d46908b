import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_ARGUMENTS_BYTES, MAX_JSON_DEPTH, MAX_JSON_KEYS } from '../../src/core/limits.ts';
import { ARGUMENT_LIMITS } from '../../src/schema/argument-limits.ts';
import { readJson } from '../../src/schema/json-text.ts';
import { nearJson } from './fuzz/near-json.ts';

const read = (text: string) => readJson(text, ARGUMENT_LIMITS);
const problem = (text: string): string => {
  const reading = read(text);
  return reading.kind === 'refused' ? reading.problem : '';
};

describe('the strict reader', () => {
  it.each([
    ['{}', 'object'],
    [' [1] ', 'array'],
    ['"x"', 'string'],
    ['-0.5e+10', 'number'],
    ['true', 'boolean'],
    ['null', 'null'],
    ['{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"}', 'object'],
    ['"\u2028\u2029\u007f"', 'string'],
    ['{"":1}', 'object'],
  ])('1.2: reads %j', (text, root) => {
    expect(read(text)).toEqual({ kind: 'json', root });
  });

  it.each([
    '',
    '{',
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '[1,]',
    '[,1]',
    '{a:1}',
    "{'a':1}",
    '{"a":01}',
    '{"a":-}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":5.}',
    '{"a":1e}',
    '{"a":0x1F}',
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":-Infinity}',
    '{"a":undefined}',
    '{"a":True}',
    '{"a":nul}',
    '{"a":"\n"}',
    '{"a":"\t"}',
    '{"a":"\u0000"}',
    '{"a":"\\x41"}',
    '{"a":"\\u12"}',
    '{"a":"\\u{41}"}',
    '{"a":"\\',
    '{"a":1}}',
    '{"a":1} {"b":2}',
    '{"a":1 "b":2}',
    '{"a" 1}',
    '\ufeff{}',
    '{}\u00a0',
    '{"a":1}\u0000',
    '/**/{}',
    '{"a":1n}',
    '{"a":1_000}',
  ])('1.2: refuses %j', (text) => {
    expect(read(text).kind).toBe('refused');
    expect(() => JSON.parse(text)).toThrow();
  });

  it.each([
    ['1.4: equal keys', '{"a":1,"a":2}'],
    ['1.4: equal keys by escapes', '{"a/b":1,"a\\/b":2}'],
    ['1.4: equal keys, one an escaped pair', '{"😀":1,"\\ud83d\\ude00":2}'],
    ['1.4: equal keys in an array of objects', '[{"a":1},{"b":1,"b":1}]'],
    ['1.4: equal empty keys', '{"":1,"":2}'],
    ['1.4: __proto__ twice', '{"__proto__":1,"__proto__":2}'],
    ['1.4: equal keys far apart', `{"a":0,${Array.from({ length: 40 }, (_, i) => `"k${i}":${i}`)},"a":1}`],
    ['1.5: an escaped high surrogate', '"\\ud800"'],
    ['1.5: an escaped low surrogate', '"\\udc00"'],
    ['1.5: two high surrogates', '"\\ud83d\\ud83d"'],
    ['1.5: a high surrogate before another escape', '"\\ud83d\\n"'],
    ['1.5: a lone surrogate in a key', '{"\\ud83d":1}'],
    ['1.5: a raw lone surrogate', '"\ud83d"'],
  ])('1.4, 1.5: refuses what JSON.parse lets pass: %s', (_name, text) => {
    expect(read(text).kind).toBe('refused');
    expect(() => JSON.parse(text)).not.toThrow();
  });

  it.each([
    [
      'depth',
      '['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH),
      '['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1),
    ],
    ['keys', keys(MAX_JSON_KEYS), keys(MAX_JSON_KEYS + 1)],
    ['bytes', `"${'a'.repeat(MAX_ARGUMENTS_BYTES - 2)}"`, `"${'a'.repeat(MAX_ARGUMENTS_BYTES - 1)}"`],
    [
      'bytes of UTF-8',
      `"${'é'.repeat(MAX_ARGUMENTS_BYTES / 2 - 1)}"`,
      `"${'é'.repeat(MAX_ARGUMENTS_BYTES / 2)}"`,
    ],
  ])('1.5: the limit of %s is exact', (_name, within, beyond) => {
    expect(read(within).kind).toBe('json');
    expect(read(beyond).kind).toBe('refused');
  });

  it('1.5: nesting of a million levels is refused without a slow path', () => {
    expect(problem('['.repeat(1_000_000))).toContain('64 levels');
    expect(problem('{"a":'.repeat(200_000))).toContain('64 levels');
  });

  it.each([
    ['{"a":1,\n "b" 2}', 'line 2, column 6'],
    ['{"a":"secret",}', 'column 15'],
    ['{"a":1', 'the text ends'],
  ])('9.4: says where in %j', (text, place) => {
    expect(problem(text)).toContain(place);
    expect(problem(text)).not.toContain('secret');
  });

  it('1.1: accepts whatever JSON.stringify writes of well-formed values', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat(3), (value, indent) => {
        expect(read(JSON.stringify(value, null, indent)).kind).toBe('json');
      }),
    );
  });

  it('accepts nothing that JSON.parse refuses, and refuses more only for rules 1.4 and 1.5', () => {
    const stricter = /repeated|surrogate|levels|keys|longer/;
    fc.assert(
      fc.property(nearJson, (text) => {
        const reading = read(text);
        expect(reading.kind === 'json' ? parses(text) : stricter.test(reading.problem) || !parses(text)).toBe(
          true,
        );
      }),
      { numRuns: 5_000 },
    );
  });
});

function keys(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join()}}`;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
