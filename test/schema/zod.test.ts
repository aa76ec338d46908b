import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonSchemaOf } from '../../src/schema/zod.ts';

describe('jsonSchemaOf', () => {
  it('2.5: describes what a caller writes, before defaults and transforms', () => {
    const schema = z.object({
      city: z.string().default('Tokyo'),
      days: z.string().transform(Number),
      unit: z.enum(['c', 'f']).optional(),
    });
    expect(jsonSchemaOf(schema)).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        city: { type: 'string', default: 'Tokyo' },
        days: { type: 'string' },
        unit: { type: 'string', enum: ['c', 'f'] },
      },
      required: ['days'],
    });
  });

  it('2.5: describes what comes out, where that is asked for', () => {
    const schema = z.object({ t: z.number().default(1) });
    expect(jsonSchemaOf(schema, 'output')).toMatchObject({ required: ['t'], additionalProperties: false });
    expect(jsonSchemaOf(z.string(), 'output')).toMatchObject({ type: 'string' });
  });

  it('holds plain JSON alone', () => {
    const schema = jsonSchemaOf(z.object({ a: z.string() }));
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    expect(Reflect.ownKeys(schema)).not.toContain('~standard');
  });

  const a = z.object({ kind: z.literal('a'), x: z.string() });
  const b = z.object({ kind: z.literal('b') });
  const tree = z.object({
    get children() {
      return z.array(tree);
    },
  });

  it.each([
    ['a union', z.union([a, b])],
    ['a discriminated union', z.discriminatedUnion('kind', [a, b])],
    ['an intersection', a.and(z.object({ y: z.number() }))],
    ['a record', z.record(z.string(), z.number())],
    ['a lazy object', z.lazy(() => a)],
    ['a recursive object', tree],
    ['a transformed object', a.transform((value) => value.x)],
    ['anything', z.any()],
    ['a loose object', z.looseObject({})],
  ])('2.5: the root of %s is an object', (_, schema) => {
    expect(jsonSchemaOf(schema)).toMatchObject({ type: 'object' });
  });

  it('2.5: a union keeps its branches under the root', () => {
    expect(jsonSchemaOf(z.union([a, b]))).toMatchObject({ anyOf: [{ type: 'object' }, { type: 'object' }] });
  });

  it.each([
    ['a string', z.string(), /root is "string"/],
    ['an array', z.array(a), /root is "array"/],
    ['a union without an object', z.union([z.string(), z.array(a)]), /no branch/],
    ['a constant', z.literal('x'), /root is "string"/],
  ])('2.5: %s at the root is refused', (_, schema, message) => {
    expect(() => jsonSchemaOf(schema)).toThrow(message);
  });

  it.each([
    ['a Date', z.object({ at: z.date() }), '/properties/at'],
    ['a BigInt', z.object({ list: z.array(z.bigint()) }), '/properties/list/items'],
    ['a Map', z.object({ m: z.map(z.string(), z.string()) }), '/properties/m'],
    ['undefined', z.object({ u: z.undefined() }), '/properties/u'],
    ['a custom check', z.object({ c: z.custom<Error>() }), '/properties/c'],
    ['a symbol in a union', z.object({ o: z.union([z.string(), z.symbol()]) }), '/properties/o/anyOf/1'],
    ['a symbol at the root', z.symbol(), 'the root'],
  ])('2.5: %s fails with its path', (_, schema, path) => {
    expect(() => jsonSchemaOf(schema)).toThrow(`at ${path}:`);
  });

  it('2.5: a transform has no output that JSON Schema knows', () => {
    const schema = z.object({ t: z.string().transform(Number) });
    expect(() => jsonSchemaOf(schema, 'output')).toThrow('at /properties/t:');
  });

  it('says what to do with a schema of another library', () => {
    const foreign = { '~standard': { version: 1, vendor: 'other', validate: () => ({ value: 1 }) } };
    expect(() => jsonSchemaOf(foreign as unknown as z.ZodType)).toThrow(/version 4/);
  });
});
