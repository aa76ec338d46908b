import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { compileSchema } from '../../../src/schema/compile.ts';
import type { ProfileKind } from '../../../src/schema/projection/profile.ts';
import { project } from '../../../src/schema/projection/project.ts';
import { createSchemas } from '../../../src/schema/schemas.ts';
import { fuzzCase } from '../fuzz/generate.ts';
import { seeded } from '../fuzz/random.ts';
import { breaches, rulesOf } from './schema-rules.ts';

const KINDS: readonly ProfileKind[] = ['anthropic', 'openai', 'openai-chat', 'openai-compatible', 'google'];

function projected(kind: ProfileKind, schema: object, strict = false) {
  const projection = project(kind, JSON.stringify(schema), strict);
  if (projection.kind === 'impossible') throw new Error(projection.reason);
  return projection.projected;
}

/** The one property of a schema, as a provider gets it. */
function property(kind: ProfileKind, schema: object, strict = false, more: object = {}): unknown {
  const whole = { type: 'object', properties: { p: schema }, required: ['p'], ...more };
  return (projected(kind, whole, strict).schema['properties'] as { p: unknown }).p;
}

describe('2.6: what providers are told', () => {
  const tree = {
    $defs: {
      Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' }, v: { type: 'string' } } },
    },
  };

  it.each<[ProfileKind, object, object]>([
    [
      'anthropic',
      { type: 'string', minLength: 2, pattern: '^(?=a)' },
      { type: 'string', minLength: 2, pattern: '^(?=a)' },
    ],
    ['openai', { type: 'string', minLength: 2, pattern: '^(?=a)' }, { type: 'string', minLength: 2 }],
    ['google', { type: 'string', minLength: 2, pattern: '^a' }, { type: 'string' }],
    ['openai', { type: 'array' }, { type: 'array', items: {} }],
    [
      'openai',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] }, maxItems: 2 },
    ],
    ['openai', { type: 'array', prefixItems: [{ type: 'string' }] }, { type: 'array', items: {} }],
    ['google', { const: 'a' }, { enum: ['a'] }],
    ['google', { enum: ['a', null] }, {}],
    ['google', { type: 'integer', exclusiveMinimum: 0 }, { type: 'integer', minimum: 0 }],
    [
      'google',
      { allOf: [{ type: 'number', minimum: 1 }, { maximum: 9 }] },
      { type: 'number', minimum: 1, maximum: 9 },
    ],
    [
      'google',
      {
        allOf: [
          { properties: { a: { type: 'string' } }, required: ['a'] },
          { properties: { b: {} }, required: ['b'] },
        ],
      },
      { properties: { a: { type: 'string' }, b: {} }, required: ['a', 'b'] },
    ],
    [
      'google',
      { type: 'object', patternProperties: { '^x': {} }, additionalProperties: false },
      { type: 'object' },
    ],
    [
      'openai',
      { type: 'string', description: 'words', examples: ['a'], 'x-order': 1, deprecated: true },
      { type: 'string', description: 'words', examples: ['a'] },
    ],
    [
      'anthropic',
      { not: { type: 'null' }, contains: { minLength: 1 }, minContains: 2 },
      { not: { type: 'null' }, contains: { minLength: 1 }, minContains: 2 },
    ],
  ])('%s: %j becomes %j', (kind, given, told) => {
    expect(property(kind, given)).toEqual(told);
  });

  it('keeps recursion and the names of definitions, and takes the rest out of the document', () => {
    const unused = { Unused: { type: 'string' } };
    const schema = {
      type: 'object',
      properties: { root: { $ref: '#/$defs/Node' } },
      $defs: { ...tree.$defs, ...unused },
    };
    for (const kind of KINDS) {
      expect(projected(kind, schema).schema).toEqual({
        type: 'object',
        properties: { root: { $ref: '#/$defs/Node' } },
        $defs: tree.$defs,
      });
    }
  });

  it('makes one object of a union at the root, with the tags in one list', () => {
    const branch = (tag: string, more: object) => ({
      type: 'object',
      properties: { kind: { const: tag }, ...more },
      required: ['kind', ...Object.keys(more)],
    });
    const { schema, notes } = projected('openai', {
      anyOf: [branch('a', { x: { type: 'string' } }), branch('b', { y: { type: 'number' } })],
    });
    expect(schema).toEqual({
      type: 'object',
      properties: {
        kind: { type: 'string', enum: ['a', 'b'] },
        x: { type: 'string' },
        y: { type: 'number' },
      },
      required: ['kind'],
    });
    expect(notes).toEqual(['at the root: which properties go together is left out']);
  });

  it('follows a reference at the root, and joins what has to hold together there', () => {
    const schema = {
      $ref: '#/$defs/A',
      $defs: { A: { allOf: [{ type: 'object', properties: { a: {} } }, { required: ['a'] }] } },
    };
    for (const kind of KINDS) {
      expect(projected(kind, schema).schema).toEqual({
        type: 'object',
        properties: { a: {} },
        required: ['a'],
      });
    }
  });

  it('reads draft-07: lists of items, definitions, and what a reference hides', () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {
        p: { type: 'array', items: [{ type: 'string' }], additionalItems: false },
        q: { $ref: '#/definitions/Q', minLength: 3 },
      },
      definitions: { Q: { type: 'string' } },
    };
    expect(projected('anthropic', schema).schema['properties']).toEqual({
      p: { type: 'array', prefixItems: [{ type: 'string' }], maxItems: 1 },
      q: { $ref: '#/$defs/Q' },
    });
  });

  it('lists what it left out, with the place', () => {
    const { notes } = projected('google', {
      type: 'object',
      properties: { a: { type: 'string', pattern: '^a', format: 'email' } },
      not: { required: ['b'] },
    });
    expect(notes).toEqual(['at /properties/a: "pattern" is left out', 'at the root: "not" is left out']);
  });

  it('is any object where a tool has no schema', () => {
    for (const kind of KINDS)
      expect(project(kind, '', false)).toMatchObject({ projected: { schema: { type: 'object' } } });
  });
});

describe('2.6: strict forms', () => {
  it.each<[string, object, object]>([
    ['an optional value takes null', { type: 'string' }, { type: ['string', 'null'] }],
    ['and keeps the null that it took', { type: ['string', 'null'] }, { type: ['string', 'null'] }],
    [
      'a list of values has null too',
      { type: 'string', enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'a union has a branch more',
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
      { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'null' }] },
    ],
    ['a constant stands in a union', { const: 1 }, { anyOf: [{ const: 1 }, { type: 'null' }] }],
    [
      'objects are closed, all the way down',
      { type: 'object', properties: { a: { type: 'string' } } },
      {
        type: ['object', 'null'],
        properties: { a: { type: ['string', 'null'] } },
        required: ['a'],
        additionalProperties: false,
      },
    ],
  ])('openai: %s', (_, given, told) => {
    expect(property('openai', given, true, { required: [] })).toEqual(told);
  });

  it.each<[string, ProfileKind, object, RegExp]>([
    [
      'a map',
      'openai',
      { type: 'object', additionalProperties: { type: 'string' } },
      /an object with any properties, at \/properties\/p/,
    ],
    ['any value', 'openai', {}, /a value of any type, at \/properties\/p/],
    ['items of any type', 'openai', { type: 'array' }, /a value of any type, at \/properties\/p\/items/],
    ['recursion', 'anthropic', { $ref: '#' }, /leads back to itself/],
  ])('%s has none for %s: it is sent without strict, and the reason is listed', (_, kind, given, reason) => {
    const whole = { type: 'object', properties: { p: given }, required: ['p'] };
    const strict = projected(kind, whole, true);
    expect(strict.strict).toBe(false);
    expect(strict.notes[0]).toMatch(/^sent without strict: /);
    expect(strict.notes[0]).toMatch(reason);
    expect(strict.schema).toEqual(projected(kind, whole).schema);
  });

  it('anthropic: has at most 24 optional properties', () => {
    const of = (count: number) => ({
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string' }]),
      ),
    });
    expect(projected('anthropic', of(24), true)).toMatchObject({ strict: true, nullForAbsent: false });
    expect(projected('anthropic', of(25), true).notes[0]).toMatch(/more than 24 optional/);
  });

  it('openai: nests at most 10 levels', () => {
    const deep = (levels: number): object =>
      levels === 0
        ? { type: 'string' }
        : { type: 'object', properties: { a: deep(levels - 1) }, required: ['a'] };
    expect(projected('openai', deep(9), true).strict).toBe(true);
    expect(projected('openai', deep(10), true).notes[0]).toMatch(/nests more than 10 levels/);
  });
});

describe('2.6: whatever the schema', () => {
  const schemas = createSchemas({ maxCachedValidators: 100 });
  /** Sentences that tell of a narrowing: there, what the tool admits may not be admitted. */
  const NARROWS = /go together|property .* is left out|has to be absent/;

  it('the projection keeps to the rules of its provider, compiles, and admits what the tool admits', () => {
    const random = seeded(26);
    const seen = { projected: 0, admitted: 0, strict: 0 };
    for (let run = 0; run < 1_000; run += 1) {
      const { schema, text } = fuzzCase(random);
      const defined = schemas.define(create(ToolSchema, { name: 't', inputSchemaJson: schema }));
      if (defined.kind === 'refused' || schema.trim() === '') continue;
      const options = { repair: false, stoppedForLength: false };
      const valid = schemas.checkArguments(defined.definition, text, options).status.case === 'valid';
      for (const kind of KINDS) {
        for (const strict of [false, true]) {
          const projection = project(kind, schema, strict);
          if (projection.kind === 'impossible') continue;
          const { projected: made } = projection;
          seen.projected += 1;
          if (made.strict) seen.strict += 1;
          const where = `${kind} ${strict}: ${schema}`;
          expect(breaches(made.schema, rulesOf(kind, made.strict)), where).toEqual([]);
          const compiled = compileSchema(JSON.stringify(made.schema));
          expect(compiled, where).toMatchObject({ kind: 'compiled' });
          if (
            !valid ||
            made.strict ||
            made.notes.some((note) => NARROWS.test(note)) ||
            compiled.kind !== 'compiled'
          )
            continue;
          seen.admitted += 1;
          expect(
            compiled.validator.check(JSON.parse(text.trim() === '' ? '{}' : text)),
            `${where} ${text}`,
          ).not.toBe('differs');
        }
      }
    }
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
  });
});
