import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { project } from '../../src/schema/projection/project.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { definedTool, summary } from './tools.ts';

function check(schema: object, text: string, nullForAbsent = true, repair = false) {
  const schemas = createSchemas();
  const definition = definedTool(schemas, { inputSchemaJson: JSON.stringify(schema) });
  return summary(
    schemas.checkArguments(definition, text, { repair, stoppedForLength: false, nullForAbsent }),
    text,
  );
}

const TRIP = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    note: { type: ['string', 'null'] },
    unit: { enum: ['c', 'f'] },
    stops: { type: 'array', items: { $ref: '#/$defs/Stop' } },
    any: {},
  },
  required: ['city'],
  $defs: { Stop: { type: 'object', properties: { at: { type: 'string' }, next: { $ref: '#/$defs/Stop' } } } },
};

describe('2.6: null under a strict form', () => {
  it.each([
    ['{"city":"Oslo","days":null,"unit":null}', '{"city":"Oslo"}'],
    [
      '{"city":"Oslo","days":12345678901234567890,"unit":null}',
      '{"city":"Oslo","days":12345678901234567890}',
    ],
    ['{"city":"Oslo","note":null}', undefined],
    ['{"city":"Oslo","any":null}', undefined],
    ['{"city":"Oslo","other":null}', undefined],
    ['{"city":"null and void"}', undefined],
    [
      '{"city":"Oslo","stops":[{"at":null,"next":{"at":null}},{"next":null}]}',
      '{"city":"Oslo","stops":[{"next":{}},{}]}',
    ],
  ])('%s is taken as %s', (text, value) => {
    const verdict = check(TRIP, text);
    expect(verdict).toMatchObject({
      status: 'valid',
      value_json: value ?? text,
      repairs: value === undefined ? [] : ['nulls'],
    });
  });

  it('is no absence of what is required', () => {
    expect(check(TRIP, '{"city":null}')).toMatchObject({ status: 'invalid', repairs: [] });
  });

  it('is a value like others without such a form', () => {
    expect(check(TRIP, '{"city":"Oslo","days":null}', false)).toMatchObject({
      status: 'invalid',
      repairs: [],
    });
  });

  it('comes after the other repairs', () => {
    expect(check(TRIP, '```{"city":"Oslo","days":null,}```', true, true)).toMatchObject({
      status: 'valid',
      repairs: ['fence', 'commas', 'nulls'],
    });
  });

  it.each([
    [
      'one branch takes it',
      { anyOf: [{ properties: { a: { type: 'string' } } }, { properties: { a: { type: 'null' } } }] },
    ],
    [
      'a reference takes it',
      { properties: { a: { $ref: '#/$defs/N' } }, $defs: { N: { type: ['null', 'string'] } } },
    ],
  ])('stays where %s', (_, schema) => {
    expect(check({ type: 'object', ...schema }, '{"a":null}').repairs).toEqual([]);
  });

  it('is the way back of every strict form: what the tool admits, comes back as it was', () => {
    const schema = fc.letrec<{ node: object }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<object>(
          { type: 'string' },
          { type: 'integer' },
          { type: ['string', 'null'] },
          { enum: ['a', 'b'] },
        ),
        fc.record({ type: fc.constant('array'), items: tie('node') }),
        fc
          .tuple(
            fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('node'), { minKeys: 1, noNullPrototype: true }),
            fc.subarray(['a', 'b', 'c']),
          )
          .map(([properties, required]) => ({
            type: 'object',
            properties,
            required: required.filter((name) => name in properties),
          })),
      ),
    })).node;
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), schema, { minKeys: 1, noNullPrototype: true }),
        fc.nat(),
        (properties, seed) => {
          const whole = { type: 'object', properties };
          const projection = project('openai', JSON.stringify(whole), true);
          fc.pre(projection.kind === 'projected' && projection.projected.strict);
          const meant = sample(whole, seed);
          const written = JSON.stringify(withNulls(whole, meant));
          expect(check(whole, written)).toMatchObject({ status: 'valid' });
          expect(JSON.parse(check(whole, written).value_json ?? '')).toEqual(meant);
        },
      ),
    );
  });
});

interface Plain {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: Plain;
  readonly properties?: Readonly<Record<string, Plain>>;
  readonly required?: readonly string[];
}

/** Some value that the schema admits, with some of its optional properties. */
function sample(schema: Plain, seed: number): unknown {
  if (schema.enum) return schema.enum[seed % schema.enum.length];
  if (schema.type === 'array')
    return Array.from({ length: seed % 3 }, (_, at) => sample(schema.items ?? {}, seed + at));
  if (schema.type !== 'object')
    return schema.type === 'integer' ? seed : Array.isArray(schema.type) && seed % 2 === 0 ? null : 'x';
  const names = Object.keys(schema.properties ?? {}).filter(
    (name, at) =>
      schema.required?.includes(name) || takesNull(schema.properties?.[name]) || (seed + at) % 2 === 0,
  );
  return Object.fromEntries(
    names.map((name, at) => [name, sample(schema.properties?.[name] ?? {}, seed + at)]),
  );
}

/** Null stays null there, so only a present value comes back as it was. */
function takesNull(schema: Plain | undefined): boolean {
  return Array.isArray(schema?.type);
}

/** As a model writes it under the strict form: null for every property that is absent. */
function withNulls(schema: Plain, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withNulls(schema.items ?? {}, item));
  if (typeof value !== 'object' || value === null) return value;
  const given = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, inner]) => [
      name,
      name in given ? withNulls(inner, given[name]) : null,
    ]),
  );
}
