import { describe, expect, it } from 'vitest';
import { MAX_ARGUMENTS_BYTES } from '../../src/core/limits.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { check, summary } from './tools.ts';

const of = (schema: unknown, value: string) => check({ properties: { a: schema } }, `{"a":${value}}`).status;
const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';
const refs = (levels: number, keyword: string) => ({
  type: 'object',
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, index) => {
      const next = { $ref: `#/$defs/a${index + 1}` };
      return [`a${index}`, index + 1 < levels ? { [keyword]: [next, next] } : { required: ['x'] }];
    }),
  ),
});

describe('the verdict on arguments', () => {
  it('1.2: without a definition any object is valid', () => {
    const verdict = createSchemas().checkArguments(undefined, '{"a":1}', {
      repair: false,
      stoppedForLength: false,
    });
    expect(summary(verdict, '{"a":1}')).toMatchObject({ status: 'valid', repairs: [] });
  });

  it.each(['[]', '1', '"{}"', 'true', 'null', '{', 'x'])(
    '1.2: %s is malformed, whatever the schema admits',
    (text) => {
      expect(check(true, text).status).toBe('malformed');
    },
  );

  it.each(['', ' ', '\n', '\t\r\n '])('1.3: %j stands for an empty object', (text) => {
    expect(check({ type: 'object' }, text)).toMatchObject({
      status: 'valid',
      value_json: '{}',
      repairs: ['empty'],
    });
    expect(check({ required: ['a'] }, text)).toMatchObject({
      status: 'invalid',
      value_json: '{}',
      repairs: ['empty'],
    });
  });

  it.each(['\u00a0', '\ufeff', '\v', '\0', '/**/'])('1.3: %j is text, not blank', (text) => {
    expect(check(undefined, text).status).toBe('malformed');
  });

  it.each([
    [{ type: 'integer' }, '"5"'],
    [{ type: 'string' }, '5'],
    [{ type: 'boolean' }, '"true"'],
    [{ type: 'boolean' }, '1'],
    [{ type: 'null' }, '""'],
    [{ type: 'array' }, '"a"'],
    [{ type: 'number' }, '"1.5"'],
    [{ type: 'integer' }, '1.5'],
    [{ enum: ['a'] }, '"A"'],
    [{ const: 1 }, '"1"'],
    [{ type: 'array', items: { type: 'integer' } }, '"[1]"'],
    [{ type: 'object' }, '"{}"'],
    [{ type: 'string', default: 'x' }, 'null'],
  ])('1.1: %j does not take %s', (schema, value) => {
    expect(of(schema, value)).toBe('invalid');
  });

  it.each([
    [{ type: 'integer' }, '1.0'],
    [{ type: 'integer' }, '1e3'],
    [{ type: 'integer' }, '123456789012345678901234567890'],
    [{ type: 'number' }, '1e400'],
    [{ type: 'integer' }, '-0'],
    [{ const: 1 }, '1.00'],
    [{ enum: [0] }, '-0.0'],
    [{ const: { a: 1, b: [2] } }, '{"b":[2.0],"a":1}'],
    [{ multipleOf: 0.01 }, '0.07'],
    [{ multipleOf: 0.1 }, '0.3'],
    [{ multipleOf: 0.01 }, '1234567.89'],
    [{ multipleOf: 1e-8 }, '0.00000003'],
    [{ multipleOf: 0.5 }, '1e308'],
    [{ minLength: 2, maxLength: 2 }, '"😀😀"'],
    [{ maxLength: 1 }, '"\\ud83d\\ude00"'],
    [{ format: 'uint' }, '"x"'],
    [{ format: 'constructor' }, '"x"'],
    [{ format: 'date-time' }, '"2024-02-29T12:00:00Z"'],
    [{ format: 'email' }, '7'],
    [{ format: 'url' }, '"https://example.com/a?b#c"'],
  ])('1.1: %j takes %s', (schema, value) => {
    expect(of(schema, value)).toBe('valid');
  });

  it.each([
    [{ multipleOf: 0.01 }, '4.355'],
    [{ multipleOf: 0.01 }, '4.350000001'],
    [{ multipleOf: 3 }, '1e400'],
    [{ minLength: 2 }, '"😀"'],
    [{ uniqueItems: true }, '[1,1.0]'],
    [{ uniqueItems: true }, '[{"valueOf":1},{"valueOf":1}]'],
    [{ const: { constructor: {} } }, '{"constructor":[]}'],
    [{ format: 'date' }, '"2023-02-29"'],
    [{ format: 'uuid' }, '"x"'],
    [{ format: 'ipv4' }, '"256.1.1.1"'],
    [{ format: 'url' }, '"ftp:x"'],
    [{ format: 'int32' }, '2147483648'],
  ])('1.2: %j refuses %s', (schema, value) => {
    expect(of(schema, value)).toBe('invalid');
  });

  it.each([
    '__proto__',
    'constructor',
    'prototype',
    'hasOwnProperty',
    'toString',
    'valueOf',
    '__defineGetter__',
    '',
  ])('1.6: %j is a key like others in every keyword', (key) => {
    const named = Object.fromEntries([[key, { type: 'string' }]]);
    const text = (value: string): string => `{${JSON.stringify(key)}:${value}}`;
    const verdict = (schema: string, value: string) => check(JSON.parse(schema), value).status;
    const properties = `{"properties":{${JSON.stringify(key)}:{"type":"string"}},"additionalProperties":false}`;
    expect(Object.keys(named)).toEqual([key]);
    expect(verdict(properties, text('"x"'))).toBe('valid');
    expect(verdict(properties, text('1'))).toBe('invalid');
    expect(verdict(`{"required":[${JSON.stringify(key)}]}`, '{}')).toBe('invalid');
    expect(verdict(`{"required":[${JSON.stringify(key)}]}`, text('1'))).toBe('valid');
    expect(verdict(`{"dependentRequired":{${JSON.stringify(key)}:["z"]}}`, text('1'))).toBe('invalid');
    expect(verdict(`{"dependentRequired":{${JSON.stringify(key)}:["z"]}}`, '{}')).toBe('valid');
    expect(verdict(`{"dependentSchemas":{${JSON.stringify(key)}:{"required":["z"]}}}`, text('1'))).toBe(
      'invalid',
    );
    expect(verdict('{"additionalProperties":{"type":"string"}}', text('1'))).toBe('invalid');
    expect(verdict('{"additionalProperties":false}', text('1'))).toBe('invalid');
    expect(verdict('{"maxProperties":0}', text('1'))).toBe('invalid');
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });

  it('1.6: __proto__ as data pollutes nothing', () => {
    expect(check({ type: 'object' }, '{"__proto__":{"polluted":1},"a":{"__proto__":null}}').status).toBe(
      'valid',
    );
    expect('polluted' in {}).toBe(false);
  });

  it('2.3: names, patterns and values of a schema never become code', () => {
    const hostile = `\`"'];globalThis.pwned=1;//\${globalThis.pwned=1}\\*/\u2028`;
    const schema = {
      properties: { [hostile]: { enum: [hostile], const: hostile } },
      required: [hostile],
      patternProperties: { [`^${hostile.replace(/[\\$.*[\]{}()'"`/;=\u2028]/g, '.')}`]: { format: hostile } },
      dependentRequired: { [hostile]: [hostile] },
      $defs: { [hostile]: { type: 'string' } },
      $comment: hostile,
    };
    expect(check(schema, '{}').status).toBe('invalid');
    expect(check(schema, JSON.stringify({ [hostile]: hostile })).status).toBe('valid');
    expect('pwned' in globalThis).toBe(false);
  });

  it.each([
    ['dependencies', { dependencies: { a: ['b'], c: { required: ['d'] } } }, '{"a":1}', '{"a":1,"b":1}'],
    [
      'additionalItems',
      { properties: { p: { items: [{}], additionalItems: false } } },
      '{"p":[1,2]}',
      '{"p":[1]}',
    ],
    [
      'definitions',
      { definitions: { s: { type: 'string' } }, properties: { p: { $ref: '#/definitions/s' } } },
      '{"p":1}',
      '{"p":"x"}',
    ],
    [
      '$id as an anchor',
      { definitions: { s: { $id: '#s', type: 'string' } }, properties: { p: { $ref: '#s' } } },
      '{"p":1}',
      '{"p":"x"}',
    ],
    ['if and else', { if: { required: ['a'] }, else: { required: ['b'] } }, '{}', '{"a":1}'],
  ])('2.1: draft-07 knows %s', (_name, schema, invalid, valid) => {
    const written = { $schema: DRAFT_07, ...schema };
    expect(check(written, invalid).status).toBe('invalid');
    expect(check(written, valid).status).toBe('valid');
  });

  it('2.1: draft-07 ignores what stands beside a reference, and 2020-12 does not', () => {
    const schema = {
      properties: { a: { $ref: '#/definitions/s', maxLength: 1 } },
      definitions: { s: { type: 'string' } },
    };
    expect(check({ $schema: DRAFT_07, ...schema }, '{"a":"xx"}').status).toBe('valid');
    expect(check(schema, '{"a":"xx"}').status).toBe('invalid');
  });

  it.each([
    ['a pointer with escapes', '#/$defs/x~1y~0z%25', { 'x/y~z%': { type: 'string' } }],
    ['an anchor', '#s', { any: { $anchor: 's', type: 'string' } }],
    ['an $id inside', 'inner.json', { any: { $id: 'inner.json', type: 'string' } }],
    [
      'an $id inside, and a pointer',
      'inner.json#/$defs/t',
      { any: { $id: 'inner.json', $defs: { t: { type: 'string' } } } },
    ],
    ['a dynamic anchor', '#d', { any: { $dynamicAnchor: 'd', type: 'string' } }],
  ])('2.3: references follow %s', (_name, $ref, $defs) => {
    const schema = { $id: 'https://example.com/root.json', properties: { a: { $ref } }, $defs };
    expect(check(schema, '{"a":1}').status).toBe('invalid');
    expect(check(schema, '{"a":"x"}').status).toBe('valid');
  });

  it('2.3: references follow a path that is no keyword of the dialect', () => {
    const schema = {
      properties: { a: { $ref: '#/components/schemas/S' } },
      components: { schemas: { S: { type: 'string' } } },
    };
    expect(check(schema, '{"a":1}').status).toBe('invalid');
  });

  it('2.3: a recursive schema descends with the value', () => {
    const schema = {
      $defs: {
        node: {
          type: 'object',
          properties: { next: { $ref: '#/$defs/node' }, v: { type: 'integer' } },
          required: ['v'],
        },
      },
      $ref: '#/$defs/node',
    };
    expect(check(schema, '{"v":1,"next":{"v":2,"next":{"v":3}}}').status).toBe('valid');
    expect(check(schema, '{"v":1,"next":{"v":2,"next":{}}}').violations).toMatchObject([
      { instancePath: '/next/next', keyword: 'required' },
    ]);
  });

  it.each([
    ['references that double with each level', refs(60, 'anyOf'), '{}'],
    ['references that all have to hold', refs(60, 'allOf'), '{"x":1}'],
    [
      'branches over a deep value',
      { anyOf: ['x', 'y', 'z'].map((name) => ({ properties: { c: { $ref: '#' } }, required: [name] })) },
      `${'{"c":'.repeat(60)}1${'}'.repeat(60)}`,
    ],
    [
      'branches over many items',
      {
        properties: {
          a: { items: { anyOf: Array.from({ length: 2_000 }, (_, index) => ({ required: [`k${index}`] })) } },
        },
      },
      `{"a":[${'{"k1999":0},'.repeat(9_000)}{}]}`,
    ],
    [
      'branches over many keys',
      { anyOf: Array.from({ length: 5_000 }, () => ({ additionalProperties: false })) },
      `{${Array.from({ length: 9_000 }, (_, index) => `"k${index}":0`).join()}}`,
    ],
    [
      'a pattern over a long string',
      { properties: { a: { pattern: '[ab]*a[ab]{400}c' } } },
      `{"a":"${'ab'.repeat(100_000)}"}`,
    ],
    [
      'lengths of a long string',
      { properties: { a: { allOf: Array.from({ length: 2_000 }, () => ({ minLength: 400_000 })) } } },
      `{"a":"${'é'.repeat(450_000)}"}`,
    ],
  ])('1.5: %s end within the budget, as no match', (_name, schema, text) => {
    expect(check(schema, text)).toMatchObject({ status: 'invalid', violations: [{ instancePath: '' }] });
  });

  it.each([
    ['items', { properties: { a: { items: { type: 'integer' } } } }, `{"a":[${'1,'.repeat(500_000)}1]}`],
    [
      'unique items',
      { properties: { a: { uniqueItems: true } } },
      `{"a":[${Array.from({ length: 150_000 }, (_, index) => index)}]}`,
    ],
    [
      'text',
      { properties: { a: { type: 'string', minLength: 1, maxLength: 2_000_000 } } },
      `{"a":"${'x'.repeat(MAX_ARGUMENTS_BYTES - 8)}"}`,
    ],
    ['base64', { properties: { a: { format: 'byte' } } }, `{"a":"${'AAAA'.repeat(250_000)}"}`],
  ])('1.5: a megabyte of honest %s is within the budget', (_name, schema, text) => {
    expect(check(schema, text).status).toBe('valid');
  });
});
