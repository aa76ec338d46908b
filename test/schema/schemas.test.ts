import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH } from '../../src/core/limits.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { check, definedTool, refusal } from './tools.ts';

const input = (schema: unknown) =>
  refusal({ inputSchemaJson: typeof schema === 'string' ? schema : JSON.stringify(schema) });
const remarks = (schema: unknown) =>
  definedTool(createSchemas(), { inputSchemaJson: JSON.stringify(schema) }).remarks.join('\n');
const DRAFT_07 = 'http://json-schema.org/draft-07/schema#';

describe('defining a tool', () => {
  it.each([
    undefined,
    'https://json-schema.org/draft/2020-12/schema',
    'https://json-schema.org/draft/2020-12/schema#',
    'http://json-schema.org/draft/2020-12/schema',
    DRAFT_07,
    'http://json-schema.org/draft-07/schema',
    'https://json-schema.org/draft-07/schema#',
  ])('2.1: understands the dialect %s', ($schema) => {
    expect(input({ $schema, type: 'object' })).toBeUndefined();
  });

  it.each([
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/draft-06/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'http://json-schema.org/schema#',
    'https://example.com/mine',
    '',
    7,
    null,
  ])('2.1: refuses the dialect %s', ($schema) => {
    expect(input({ $schema, type: 'object' })).toMatch(
      /tool "tool": input schema, at the root, keyword "\$schema".*2020-12/,
    );
  });

  it.each([
    ['an unknown type', { type: 'object', properties: { a: { type: 'unknown' } } }, '/properties/a', 'type'],
    ['Python for a type', { properties: { a: { type: 'str' } } }, '/properties/a', 'type'],
    ['an enum that is no list', { properties: { a: { enum: 'x' } } }, '/properties/a', 'enum'],
    [
      'required as a flag',
      { properties: { a: { type: 'string', required: true } } },
      '/properties/a',
      'required',
    ],
    [
      'a bound of draft-04',
      { properties: { a: { minimum: 1, exclusiveMinimum: true } } },
      '/properties/a',
      'exclusiveMinimum',
    ],
    [
      'a list of items, which is of draft-07',
      { properties: { a: { items: [{}] } } },
      '/properties/a',
      'items',
    ],
    ['a negative length', { properties: { a: { maxLength: -1 } } }, '/properties/a', 'maxLength'],
    ['an empty anyOf', { properties: { a: { anyOf: [] } } }, '/properties/a', 'anyOf'],
    ['a pattern that does not compile', { properties: { a: { pattern: '(' } } }, '/properties/a', 'pattern'],
    ['a reference that leads nowhere', { properties: { a: { $ref: '#/$defs/b' } } }, '/properties/a', '$ref'],
    ['a data reference', { properties: { a: { maximum: { $data: '1/b' } } } }, '/properties/a', 'maximum'],
  ])('2.2: names the place and the keyword of %s', (_name, schema, pointer, keyword) => {
    expect(input(schema)).toContain(`at ${pointer}, keyword "${keyword}"`);
  });

  it.each([
    'x',
    '[]',
    '"object"',
    'null',
    '1',
    '{',
    '{"type":"object","type":"string"}',
    '{"type":"object"}}',
  ])('2.2: refuses what is no schema at all: %s', (text) => {
    expect(input(text)).toContain('input schema, at the root');
  });

  it.each([
    true,
    {},
    { properties: {} },
    { type: ['null', 'object'] },
    { properties: { a: false } },
    { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } },
    { anyOf: [{ type: 'string' }, { type: 'object' }] },
    { not: { type: 'string' } },
    { enum: [1, {}] },
    { description: 'No arguments.' },
  ])('2.2: takes a root that can be an object: %j', (schema) => {
    expect(input(schema)).toBeUndefined();
  });

  it.each([
    false,
    { type: 'string' },
    { type: ['array', 'null'] },
    { const: 1 },
    { enum: ['a', []] },
    { not: {} },
    { not: { type: 'object' } },
    { $ref: '#/$defs/a', $defs: { a: { type: 'array' } } },
    { anyOf: [{ type: 'string' }, false] },
    { oneOf: [{ type: 'string' }, { $ref: '#/$defs/a' }], $defs: { a: { type: 'number' } } },
    { allOf: [{}, { type: 'string' }] },
  ])('2.2: refuses a root that cannot be an object: %j', (schema) => {
    expect(input(schema)).toContain('admits no object');
  });

  it('2.2: a bad output schema drops the output check only, and says so', () => {
    const schemas = createSchemas();
    const definition = definedTool(schemas, { outputSchemaJson: '{"type":"nonsense"}' });
    expect(definition.remarks).toEqual([
      expect.stringMatching(/results are not checked.*output schema.*"type"/),
    ]);
  });

  it('2.2: an output schema may be of anything', () => {
    expect(refusal({ outputSchemaJson: '{"type":"string"}' })).toBeUndefined();
  });

  it.each([
    ['$async', { $async: true, type: 'object' }],
    ['$async', { properties: { a: { $async: true } } }],
    ['instanceof', { properties: { a: { instanceof: 'Function' } } }],
    ['typeof', { properties: { a: { typeof: 'function' } } }],
    ['$merge', { $merge: { source: {}, with: {} } }],
    ['transform', { properties: { a: { transform: ['trim'] } } }],
    ['formatMinimum', { properties: { a: { format: 'date', formatMinimum: '2020-01-01' } } }],
  ])('2.3: refuses the custom keyword %s', (keyword, schema) => {
    expect(input(schema)).toContain(`keyword "${keyword}": is a custom keyword`);
  });

  it('2.3: names of properties, and data, are no keywords', () => {
    const data = { $async: true, $ref: 'http://x/', type: 'nonsense', pattern: '(' };
    const properties = {
      $async: {},
      $ref: { type: 'string' },
      instanceof: {},
      id: {},
      nullable: {},
      pattern: {},
    };
    expect(input({ properties, default: data, examples: [data], const: data })).toBeUndefined();
    expect(check({ properties }, '{"$ref":1}').status).toBe('invalid');
  });

  it.each([
    'http://example.com/a.json',
    'https://json-schema.org/draft/2020-12/schema',
    'file:///etc/passwd',
    'other.json',
    'urn:uuid:1',
    'constructor',
    '//x',
  ])('2.3: fetches nothing for the reference %s', ($ref) => {
    expect(input({ properties: { a: { $ref } } })).toMatch(/at \/properties\/a, keyword "\$ref": leads out/);
  });

  it('2.3: what published schemas hold beside the dialect only annotates, and is remarked on', () => {
    const a = {
      type: 'string',
      nullable: true,
      example: 'x',
      discriminator: { propertyName: 'a' },
      id: 'a',
      'x-order': 1,
    };
    const schema = { type: 'object', title: 'T', properties: { a }, anyOf: [{ nullable: true }] };
    expect(input(schema)).toBeUndefined();
    expect(remarks(schema)).toMatch(/only annotate: "nullable","example","discriminator","id"$/);
    expect(check(schema, '{"a":null}').status).toBe('invalid');
  });

  it.each(['(?=a)b', 'a(?!b)', '(?<=a)b', '(a)\\1', '^.{1,5000}$', 'a'.repeat(5_000)])(
    '2.3: the pattern %s cannot run in linear time, is not enforced, and is remarked on',
    (pattern) => {
      const schema = { properties: { a: { type: 'string', pattern } } };
      expect(remarks(schema)).toMatch(
        /at \/properties\/a: a regular expression of "pattern" is not enforced/,
      );
      expect(check(schema, '{"a":"-"}').status).toBe('valid');
      expect(check(schema, '{"a":1}').status).toBe('invalid');
    },
  );

  it('2.3: a pattern of property names that cannot run leaves the other properties free', () => {
    const schema = { patternProperties: { '(?=a)': { type: 'string' } }, additionalProperties: false };
    expect(remarks(schema)).toContain('"patternProperties" is not enforced');
    expect(check(schema, '{"a":"x"}').status).toBe('valid');
  });

  it('2.3: the limits of size and depth are exact', () => {
    const sized = (size: number): string => `{"description":"${'x'.repeat(size - 18)}"}`;
    const deep = (levels: number): string =>
      `${'{"not":'.repeat(levels - 1)}{"a":1}${'}'.repeat(levels - 1)}`;
    expect(sized(100)).toHaveLength(100);
    expect(
      refusal({ outputSchemaJson: deep(MAX_SCHEMA_DEPTH), inputSchemaJson: sized(MAX_SCHEMA_BYTES) }),
    ).toBeUndefined();
    expect(input(sized(MAX_SCHEMA_BYTES + 1))).toContain('longer than 262144 bytes');
    expect(input(deep(MAX_SCHEMA_DEPTH + 1))).toContain('64 levels');
  });

  it.each([
    ['itself', { $ref: '#' }],
    ['itself by allOf', { allOf: [{ $ref: '#' }] }],
    ['itself by not', { type: 'object', not: { $ref: '#' } }],
    ['a pair', { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }],
    ['an anchor', { properties: { x: { $anchor: 'x', anyOf: [{ type: 'string' }, { $ref: '#x' }] } } }],
  ])('2.3: refuses a reference to %s that descends into nothing', (_name, schema) => {
    expect(input(schema)).toContain('leads back to its own schema');
  });

  it.each([
    [
      'a wide oneOf',
      { oneOf: Array.from({ length: 300 }, (_, index) => ({ required: [`k${index}`] })) },
      'more than 256',
    ],
    ['too many schemas', { anyOf: Array.from({ length: 11_000 }, () => ({})) }, 'more than 10000'],
    [
      'too many patterns',
      { allOf: Array.from({ length: 300 }, (_, i) => ({ properties: { a: { pattern: `a${i}` } } })) },
      'more than 250',
    ],
  ])('2.3: refuses %s', (_name, schema, why) => {
    expect(input(schema)).toContain(why);
  });

  it('2.3: wide enums, unions of constants, and many properties compile', () => {
    const consts = Array.from({ length: 1_500 }, (_, index) => ({ const: `k${index}`, title: 'T' }));
    const properties = Object.fromEntries(consts.map(({ const: name }) => [name, { type: 'integer' }]));
    const schema = {
      properties: { ...properties, u: { oneOf: consts }, v: { anyOf: consts } },
      additionalProperties: false,
    };
    expect(check(schema, '{"u":"k1499","v":"k0","k77":1}').status).toBe('valid');
    expect(check(schema, '{"u":"k1500"}').violations).toMatchObject([
      { instancePath: '/u', keyword: 'oneOf' },
    ]);
    expect(check(schema, '{"k1400":"x"}').violations).toMatchObject([
      { instancePath: '/k1400', keyword: 'type' },
    ]);
    expect(check(schema, '{"x":1}').violations).toMatchObject([{ keyword: 'additionalProperties' }]);
  });

  it('2.3: the same $id in two tools does not collide, nor does that of a meta-schema', () => {
    const schemas = createSchemas();
    const $id = 'https://example.com/tool.json';
    const first = definedTool(schemas, {
      name: 'a',
      inputSchemaJson: JSON.stringify({ $id, properties: { a: { type: 'string' } } }),
    });
    const second = definedTool(schemas, {
      name: 'b',
      inputSchemaJson: JSON.stringify({ $id, properties: { a: { type: 'number' } } }),
    });
    definedTool(schemas, { name: 'c', inputSchemaJson: JSON.stringify({ $id: DRAFT_07, type: 'object' }) });
    const options = { repair: false, stoppedForLength: false };
    expect(schemas.checkArguments(first, '{"a":"x"}', options).status.case).toBe('valid');
    expect(schemas.checkArguments(second, '{"a":"x"}', options).status.case).toBe('invalid');
  });

  it('7.5: the digest is of the encoding, and equal tools have equal digests', () => {
    const fields = { name: 'a', description: 'b', inputSchemaJson: '{}' };
    const [first, second] = [definedTool(createSchemas(), fields), definedTool(createSchemas(), fields)];
    expect(first.digest).toMatch(/^sha256-[0-9a-f]{64}$/);
    expect(first.digest).toBe(second.digest);
    expect(first.bytes).toEqual(second.bytes);
    expect(definedTool(createSchemas(), { ...fields, description: 'c' }).digest).not.toBe(first.digest);
  });

  it('1.2: checks for a definition that this engine never saw defined', () => {
    const { tool, digest, bytes } = definedTool(createSchemas(), { inputSchemaJson: '{"required":["a"]}' });
    const verdict = createSchemas().checkArguments({ tool, digest, bytes, remarks: [] }, '{}', {
      repair: false,
      stoppedForLength: false,
    });
    expect(verdict.status.case).toBe('invalid');
  });

  it('blank text is no schema', () => {
    expect(refusal({ inputSchemaJson: ' \n', outputSchemaJson: '\t' })).toBeUndefined();
  });

  it('a refused tool leaves the next one alone', () => {
    const schemas = createSchemas();
    expect(schemas.define(create(ToolSchema, { name: 'bad', inputSchemaJson: '{"type":1}' })).kind).toBe(
      'refused',
    );
    expect(schemas.define(create(ToolSchema, { name: 'good', inputSchemaJson: '{}' })).kind).toBe('defined');
  });
});
