import { describe, expect, it } from 'vitest';
import { compileSchema } from '../../src/schema/compile.ts';
import { diagnose } from '../../src/schema/diagnose.ts';
import { fuzzCase } from './fuzz/generate.ts';
import { seeded } from './fuzz/random.ts';
import { check } from './tools.ts';

const found = (schema: unknown, text: string) =>
  check(schema, text).violations.map(
    ({ instancePath, keyword, message }) => `${instancePath} ${keyword}: ${message}`,
  );
const cat = {
  type: 'object',
  properties: { kind: { const: 'cat' }, lives: { type: 'integer' } },
  required: ['kind', 'lives'],
};
const dog = {
  type: 'object',
  properties: { kind: { const: 'dog' }, name: { type: 'string' } },
  required: ['kind'],
};

describe('what is wrong with a value', () => {
  it('1.9: agrees with the compiled validator about every value', () => {
    const random = seeded(4);
    const disagreements: unknown[] = [];
    const seen = { matches: 0, differs: 0, spent: 0 };
    for (let index = 0; index < 5_000; index += 1) {
      const { schema, text } = fuzzCase(random);
      const compiled = compileSchema(schema);
      const value = parsed(text);
      if (compiled.kind !== 'compiled' || value === undefined) continue;
      const verdict = compiled.validator.check(value);
      seen[verdict] += 1;
      const violations = diagnose(compiled.validator.plain, value);
      if ((verdict === 'matches') !== (violations.length === 0))
        disagreements.push({ schema, text, verdict });
    }
    expect(disagreements).toEqual([]);
    expect(Math.min(seen.matches, seen.differs)).toBeGreaterThan(300);
    expect(seen.spent).toBe(0);
  });

  it('1.9: puts the deepest first', () => {
    const schema = {
      properties: { a: { properties: { b: { items: { type: 'integer' } } } } },
      required: ['c'],
    };
    expect(found(schema, '{"a":{"b":[1,"x"]}}')).toEqual([
      '/a/b/1 type: must be integer',
      ' required: must have the property "c"',
    ]);
  });

  it.each([
    [
      'a tag that no branch has',
      '{"pet":{"kind":"fish"}}',
      [
        '/pet/kind const: must be one of "cat", "dog"',
        '/pet oneOf: must have "kind" set to one of "cat", "dog"',
      ],
    ],
    [
      'a tag of another type',
      '{"pet":{"kind":7}}',
      [
        '/pet/kind const: must be one of "cat", "dog"',
        '/pet oneOf: must have "kind" set to one of "cat", "dog"',
      ],
    ],
    [
      'no tag',
      '{"pet":{"lives":9}}',
      [
        '/pet required: must have the property "kind"',
        '/pet oneOf: must have "kind" set to one of "cat", "dog"',
      ],
    ],
    [
      'a tag, and a fault in its branch',
      '{"pet":{"kind":"cat","lives":"9"}}',
      ['/pet/lives type: must be integer'],
    ],
    [
      'a tag, and a part of its branch missing',
      '{"pet":{"kind":"cat"}}',
      ['/pet required: must have the property "lives" (integer)'],
    ],
    ['no object at all', '{"pet":3}', ['/pet oneOf: must match one of 2 allowed forms: object']],
  ])('1.9: a tagged union with %s', (_name, text, expected) => {
    expect(found({ properties: { pet: { oneOf: [cat, dog] } } }, text)).toEqual(expected);
    const referred = {
      $defs: { cat, dog: { allOf: [dog] } },
      properties: { pet: { oneOf: [{ $ref: '#/$defs/cat' }, { $ref: '#/$defs/dog' }] } },
    };
    expect(found(referred, text)).toHaveLength(expected.length);
  });

  it('1.9: tags may be several values of an enum', () => {
    const branches = [
      { properties: { op: { enum: ['add', 'sub'] } } },
      { properties: { op: { const: 'neg' } } },
    ];
    expect(found({ anyOf: branches }, '{"op":"mul"}')).toContain(
      '/op enum: must be one of "add", "sub", "neg"',
    );
  });

  it.each([
    [
      'of scalars',
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
      '1',
      ['/a anyOf: must match one of 2 allowed forms: string or null'],
    ],
    [
      'of constants',
      { anyOf: [{ const: 'x' }, { const: 2 }] },
      '1',
      ['/a anyOf: must match one of 2 allowed forms: one of "x", 2'],
    ],
    [
      'with one branch of the type',
      { anyOf: [{ type: 'string', minLength: 3 }, { type: 'null' }] },
      '"x"',
      [
        '/a minLength: must have at least 3 characters',
        '/a anyOf: must match one of 2 allowed forms: string or null',
      ],
    ],
    [
      'where two branches match',
      { oneOf: [{}, { type: 'string' }] },
      '"x"',
      ['/a oneOf: must match only one of the allowed forms, not several'],
    ],
  ])('1.9: a union %s', (_name, schema, value, expected) => {
    expect(found({ properties: { a: schema } }, `{"a":${value}}`)).toEqual(expected);
  });

  it.each([
    [
      { additionalProperties: false, properties: { b: {} } },
      '{"a":1}',
      ' additionalProperties: must not have the property "a"; allowed are "b"',
    ],
    [
      { additionalProperties: false },
      '{"a":1}',
      ' additionalProperties: must not have the property "a"; none is allowed',
    ],
    [
      { unevaluatedProperties: false, allOf: [{ properties: { b: {} } }] },
      '{"a":1,"b":1}',
      ' unevaluatedProperties: must not have the property "a"',
    ],
    [
      { properties: { a: { prefixItems: [true], unevaluatedItems: false } } },
      '{"a":[1,2]}',
      '/a/1 false schema: is not allowed here',
    ],
    [
      { propertyNames: { maxLength: 1 } },
      '{"ab":1}',
      ' propertyNames: must not have a property named "ab"; names have the form {"maxLength":1}',
    ],
    [
      { dependentRequired: { a: ['b'] } },
      '{"a":1}',
      ' dependentRequired: must have the property "b" beside "a"',
    ],
    [
      { properties: { a: { uniqueItems: true } } },
      '{"a":[{"x":1,"y":2},{"y":2,"x":1}]}',
      '/a uniqueItems: must not have the same item twice',
    ],
    [
      { properties: { a: { contains: { const: 1 } } } },
      '{"a":[2]}',
      '/a contains: must contain at least 1 item of the form {"const":1}',
    ],
    [
      { properties: { a: { not: { type: 'string' } } } },
      '{"a":"x"}',
      '/a not: must not have the form {"type":["string"]}',
    ],
    [
      { properties: { a: { not: { $ref: '#/$defs/secret' } } }, $defs: { secret: { pattern: '^sk-' } } },
      '{"a":"sk-1"}',
      '/a not: must not have the form {"pattern":"^sk-"}',
    ],
    [
      { properties: { a: { format: 'date' } } },
      '{"a":"2024-02-30"}',
      '/a format: must be in the format "date", as in 2026-01-31',
    ],
    [
      { properties: { a: { format: 'date-time' } } },
      '{"a":"2024-02-03T10:00:00"}',
      '/a format: must be in the format "date-time", as in 2026-01-31T09:30:00Z or 2026-01-31T09:30:00+02:00',
    ],
    [
      { properties: { a: { format: 'hostname' } } },
      '{"a":"-"}',
      '/a format: must be in the format "hostname"',
    ],
    [
      { properties: { a: { pattern: '^[a-z]+$' } } },
      '{"a":"A"}',
      '/a pattern: must match the pattern ^[a-z]+$',
    ],
    [{ properties: { a: { const: { b: 1 } } } }, '{"a":1}', '/a const: must be {"b":1}'],
    [{ properties: { 'x/y~z': { type: 'null' } } }, '{"x/y~z":1}', '/x~1y~0z type: must be null'],
  ])('1.9: words for %j', (schema, text, expected) => {
    expect(found(schema, text)).toContain(expected);
  });

  it('1.9: a value with more faults than a verdict records', () => {
    expect(found({ additionalProperties: { type: 'string' } }, `{${keys(500)}}`)).toHaveLength(20);
  });

  it('1.5: a value with more faults than can be searched still has one violation', () => {
    expect(
      found({ additionalProperties: { items: { type: 'string' } } }, `{"a":[${'0,'.repeat(400_000)}0]}`),
    ).toEqual(['/a/0 type: must be string']);
  });
});

function keys(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":${index}`).join();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
