import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createSchemas } from '../../src/schema/schemas.ts';
import { jsonSchemaOf } from '../../src/schema/zod.ts';
import { definedTool, summary } from './tools.ts';

interface Row {
  readonly of: string;
  /** The type of the property `p`. */
  readonly type: z.ZodType;
  /** What the model reads of it. */
  readonly schema: object;
  /** JSON of values that engine and handler take. */
  readonly good: readonly string[];
  /** JSON of values that the engine calls invalid. */
  readonly bad: readonly string[];
  /** JSON of values that the schema cannot exclude, and Zod does: `invalid_arguments`, by the SDK. */
  readonly refusedByZod?: readonly string[];
}

const row = (
  of: string,
  type: z.ZodType,
  schema: object,
  good: readonly string[],
  bad: readonly string[],
  refusedByZod: readonly string[] = [],
): Row => ({ of, type, schema, good, bad, refusedByZod });

const SAFE = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
const Category: z.ZodType = z.lazy(() => z.object({ name: z.string(), sub: z.array(Category) }));

const ROWS: readonly Row[] = [
  row('string', z.string(), { type: 'string' }, ['"a"', '""'], ['1', 'null', '[]']),
  row(
    'string with bounds',
    z.string().min(2).max(3),
    { type: 'string', minLength: 2, maxLength: 3 },
    ['"ab"'],
    ['"a"', '"abcd"'],
  ),
  row(
    'string of a pattern',
    z.string().regex(/^[a-c]+$/),
    { type: 'string', pattern: '^[a-c]+$' },
    ['"abc"'],
    ['"x"'],
  ),
  row(
    'start and end',
    z.string().startsWith('a').endsWith('z'),
    { allOf: [{ pattern: '^a.*' }, { pattern: '.*z$' }] },
    ['"az"'],
    ['"a"'],
  ),
  row('email', z.email(), { format: 'email' }, ['"a@b.example"'], ['"a"']),
  row('URL', z.url(), { format: 'uri' }, ['"https://a.example/"'], ['"a b"']),
  row('UUID', z.uuid(), { format: 'uuid' }, ['"0c8f1c52-9d3d-4c1f-8a0e-2f6f0a7f4a11"'], ['"0c8f"']),
  row('ISO date', z.iso.date(), { format: 'date' }, ['"2026-02-28"'], ['"2026-02-30"', '"tomorrow"']),
  row('ISO time', z.iso.datetime(), { format: 'date-time' }, ['"2026-02-28T12:00:00Z"'], ['"noon"']),
  row('IPv4', z.ipv4(), { format: 'ipv4' }, ['"127.0.0.1"'], ['"300.0.0.1"']),
  row('trimmed string', z.string().trim(), { type: 'string' }, ['" a "'], ['1']),
  row('number', z.number(), { type: 'number' }, ['1', '1.5', '-2e3'], ['"1"', 'null']),
  row(
    'number with bounds',
    z.number().gt(0).lte(10),
    { type: 'number', exclusiveMinimum: 0, maximum: 10 },
    ['0.1', '10'],
    ['0', '11'],
  ),
  row('multiples', z.number().multipleOf(0.5), { type: 'number', multipleOf: 0.5 }, ['1.5'], ['1.2']),
  row('integer', z.int(), { type: 'integer', ...SAFE }, ['3', '3.0'], ['3.1', '9007199254740993']),
  row('positive integer', z.int().positive(), { type: 'integer', exclusiveMinimum: 0 }, ['1'], ['0', '-1']),
  row(
    '32 bits',
    z.int32(),
    { type: 'integer', minimum: -2147483648, maximum: 2147483647 },
    ['1'],
    ['2147483648'],
  ),
  row('boolean', z.boolean(), { type: 'boolean' }, ['true', 'false'], ['"true"', '0']),
  row('null', z.null(), { type: 'null' }, ['null'], ['0', '""']),
  row('literal', z.literal('a'), { type: 'string', const: 'a' }, ['"a"'], ['"b"']),
  row('several literals', z.literal(['a', 1]), { enum: ['a', 1] }, ['"a"', '1'], ['"b"']),
  row('enum', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'] }, ['"a"'], ['"c"']),
  row(
    'object as an enum',
    z.enum({ A: 'a', B: 'b' }),
    { type: 'string', enum: ['a', 'b'] },
    ['"b"'],
    ['"A"'],
  ),
  row('optional', z.string().optional(), { type: 'string' }, ['"a"'], ['null']),
  row('nullable', z.string().nullable(), { type: ['string', 'null'] }, ['"a"', 'null'], ['1']),
  row('nullish', z.string().nullish(), { type: ['string', 'null'] }, ['null'], ['1']),
  row('default', z.string().default('x'), { type: 'string', default: 'x' }, ['"a"'], ['1']),
  row('prefault', z.string().prefault('x'), { type: 'string', default: 'x' }, ['"a"'], ['1']),
  row(
    'described',
    z.string().describe('A town.'),
    { type: 'string', description: 'A town.' },
    ['"a"'],
    ['1'],
  ),
  row(
    'with meta',
    z.string().meta({ title: 'T', examples: ['a'] }),
    { type: 'string', title: 'T', examples: ['a'] },
    ['"a"'],
    ['1'],
  ),
  row('branded', z.string().brand<'Id'>(), { type: 'string' }, ['"a"'], ['1']),
  row(
    'readonly',
    z.array(z.string()).readonly(),
    { type: 'array', items: { type: 'string' } },
    ['["a"]'],
    ['[1]'],
  ),
  row(
    'array',
    z.array(z.number()),
    { type: 'array', items: { type: 'number' } },
    ['[]', '[1]'],
    ['["1"]', '{}'],
  ),
  row(
    'array with bounds',
    z.array(z.number()).min(1).max(2),
    { type: 'array', minItems: 1, maxItems: 2 },
    ['[1]'],
    ['[]', '[1,2,3]'],
  ),
  row(
    'tuple',
    z.tuple([z.string(), z.number()]),
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
    ['["a",1]'],
    ['[1,"a"]', '["a",1,2]', '["a"]'],
  ),
  row(
    'tuple with rest',
    z.tuple([z.string()], z.number()),
    { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } },
    ['["a"]', '["a",1]'],
    ['["a","b"]'],
  ),
  row(
    'object',
    z.object({ a: z.string() }),
    { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
    ['{"a":"x"}', '{"a":"x","b":1}'],
    ['{}'],
  ),
  row(
    'strict object',
    z.strictObject({ a: z.string() }),
    { type: 'object', additionalProperties: false },
    ['{"a":"x"}'],
    ['{"a":"x","b":1}'],
  ),
  row(
    'loose object',
    z.looseObject({ a: z.string() }),
    { type: 'object', additionalProperties: {} },
    ['{"a":"x","b":1}'],
    ['{"b":1}'],
  ),
  row(
    'catch-all',
    z.object({}).catchall(z.number()),
    { type: 'object', additionalProperties: { type: 'number' } },
    ['{"b":1}'],
    ['{"b":"1"}'],
  ),
  row(
    'partial object',
    z.object({ a: z.string() }).partial(),
    { type: 'object', properties: { a: { type: 'string' } } },
    ['{}'],
    ['{"a":1}'],
  ),
  row(
    'extended object',
    z.object({ a: z.string() }).extend({ b: z.number() }),
    { required: ['a', 'b'] },
    ['{"a":"x","b":1}'],
    ['{"a":"x"}'],
  ),
  row(
    'record',
    z.record(z.string(), z.number()),
    { type: 'object', propertyNames: { type: 'string' }, additionalProperties: { type: 'number' } },
    ['{}', '{"a":1}'],
    ['{"a":"1"}'],
  ),
  row(
    'record of an enum',
    z.record(z.enum(['a', 'b']), z.number()),
    { type: 'object', propertyNames: { type: 'string', enum: ['a', 'b'] } },
    ['{"a":1,"b":2}'],
    ['{"c":1}'],
  ),
  row(
    'partial record',
    z.partialRecord(z.enum(['a', 'b']), z.number()),
    { type: 'object', propertyNames: { type: 'string', enum: ['a', 'b'] } },
    ['{"a":1}'],
    ['{"c":1}'],
  ),
  row('union', z.union([z.string(), z.number()]), { type: ['string', 'number'] }, ['"a"', '1'], ['true']),
  row(
    'discriminated union',
    z.discriminatedUnion('t', [
      z.object({ t: z.literal('a'), x: z.string() }),
      z.object({ t: z.literal('b') }),
    ]),
    { oneOf: [{ required: ['t', 'x'] }, { required: ['t'] }] },
    ['{"t":"a","x":"y"}', '{"t":"b"}'],
    ['{"t":"a"}', '{"t":"c"}'],
  ),
  row(
    'intersection',
    z.object({ a: z.string() }).and(z.object({ b: z.number() })),
    { type: 'object', required: ['a', 'b'] },
    ['{"a":"x","b":1}'],
    ['{"a":"x"}'],
  ),
  row(
    'recursion',
    Category,
    { $ref: '#/$defs/__schema0' },
    ['{"name":"a","sub":[{"name":"b","sub":[]}]}'],
    ['{"name":"a","sub":[1]}'],
  ),
  row('any', z.any(), {}, ['1', 'null', '[]'], []),
  row('unknown', z.unknown(), {}, ['1', '{}'], []),
  row('JSON', z.json(), { $ref: expect.any(String) }, ['{"a":[1,null]}'], []),
  row(
    'template literal',
    z.templateLiteral(['v', z.number()]),
    { type: 'string', pattern: expect.any(String) },
    ['"v1"'],
    ['"x1"'],
  ),
  row('string to boolean', z.stringbool(), { type: 'string' }, ['"yes"', '"false"'], ['true'], ['"perhaps"']),
  row('coerced number', z.coerce.number(), { type: 'number' }, ['1'], ['"1"']),
  row('coerced string', z.coerce.string(), { type: 'string' }, ['"a"'], ['1']),
  row('transform', z.string().transform(Number), { type: 'string' }, ['"1"'], ['1']),
  row(
    'pipe',
    z.string().pipe(z.transform((text: string) => text.length)),
    { type: 'string' },
    ['"abc"'],
    ['1'],
  ),
  row(
    'preprocess',
    z.preprocess((value) => value, z.string()),
    { type: 'string' },
    ['"a"'],
    ['1'],
  ),
  row(
    'codec',
    z.codec(z.iso.datetime(), z.date(), {
      decode: (text) => new Date(text),
      encode: (date) => date.toISOString(),
    }),
    { type: 'string', format: 'date-time' },
    ['"2026-02-28T12:00:00Z"'],
    ['1'],
  ),
  row(
    'refinement',
    z.string().refine((text) => text !== 'no'),
    { type: 'string' },
    ['"yes"'],
    ['1'],
    ['"no"'],
  ),
  row('catch', z.string().catch('x'), { type: 'string' }, ['"a"'], ['1']),
  row('non-optional', z.string().optional().nonoptional(), { type: 'string' }, ['"a"'], ['null']),
];

describe('2.5: a Zod type', () => {
  const schemas = createSchemas();

  it.each(ROWS)('$of', ({ type, schema, good, bad, refusedByZod = [] }) => {
    const whole = z.object({ p: type });
    const converted = jsonSchemaOf(whole);
    expect((converted['properties'] as { p: object }).p).toMatchObject(schema);
    const definition = definedTool(schemas, { inputSchemaJson: JSON.stringify(converted) });
    const statusOf = (value: string): string => {
      const text = `{"p":${value}}`;
      return summary(
        schemas.checkArguments(definition, text, { repair: false, stoppedForLength: false }),
        text,
      ).status;
    };
    expect([...good, ...refusedByZod].map((value) => [value, statusOf(value)])).toEqual(
      [...good, ...refusedByZod].map((value) => [value, 'valid']),
    );
    expect(bad.map((value) => [value, statusOf(value)])).toEqual(bad.map((value) => [value, 'invalid']));
    const parses = (value: string): boolean => whole.safeParse({ p: JSON.parse(value) }).success;
    expect(good.filter((value) => !parses(value))).toEqual([]);
    expect(refusedByZod.filter(parses)).toEqual([]);
  });

  it.each<[string, z.ZodType]>([
    ['optional', z.string().optional()],
    ['nullish', z.string().nullish()],
    ['default', z.string().default('x')],
    ['prefault', z.string().prefault('x')],
  ])('%s: may be left out', (_, type) => {
    expect(jsonSchemaOf(z.object({ p: type }))['required'] ?? []).not.toContain('p');
    expect(z.object({ p: type }).safeParse({}).success).toBe(true);
  });
});

describe('2.5: a Zod type that JSON cannot carry', () => {
  it.each<[string, z.ZodType]>([
    ['bigint', z.bigint()],
    ['date', z.date()],
    ['undefined', z.undefined()],
    ['void', z.void()],
    ['symbol', z.symbol()],
    ['NaN', z.nan()],
    ['map', z.map(z.string(), z.number())],
    ['set', z.set(z.string())],
    ['file', z.file()],
    ['function', z.function() as unknown as z.ZodType],
    ['custom', z.custom<string>((value) => typeof value === 'string')],
    ['instance', z.instanceof(Date)],
  ])('%s: is an error of the definition that names the place', (_, type) => {
    expect(() => jsonSchemaOf(z.object({ list: z.array(z.object({ p: type })) }))).toThrow(
      /\/list\/items\/properties\/p:/,
    );
  });

  it('may stand behind a transform: the model writes what comes before it', () => {
    const schema = z.object({
      when: z.iso.datetime().transform((text) => new Date(text)),
      big: z.string().transform(BigInt),
    });
    expect(jsonSchemaOf(schema)['properties']).toMatchObject({
      when: { type: 'string' },
      big: { type: 'string' },
    });
  });
});
