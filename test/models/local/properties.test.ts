import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { createLocalModel } from '../../../src/models/local.ts';
import { modelCall } from '../model-call.ts';
import { checkCall } from './converse.ts';

const NAMES = [
  'city',
  'path',
  'to',
  'from',
  'amount',
  'date',
  'email',
  'query',
  'title',
  'id',
  'limit',
  '__proto__',
  'constructor',
  'x',
  'ümlaut',
  'is_open',
  'tags',
  '',
];
const WORDS = [
  'read',
  'send',
  'weather',
  'in',
  'to',
  'from',
  'Oslo',
  'and',
  'Lima',
  '5',
  '3.5',
  'euros',
  'a.txt',
  '/etc/passwd',
  'ann@corp.io',
  '"quoted words"',
  '2026-05-01',
  'tomorrow',
  'at',
  '15:30',
  'id',
  '42',
  'INV-7',
  'https://example.com/a',
  'open',
  'not',
  'city',
  'title',
  ':',
  ',',
  '.',
  '?',
  'each',
  'it',
  'the',
  'SELECT 1',
  '__proto__',
  'red',
  '💡',
  "don't",
  '"',
];

const scalar: fc.Arbitrary<object> = fc.oneof(
  fc.record({ type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null') }),
  fc.record({
    type: fc.constant('string'),
    format: fc.constantFrom('email', 'date', 'date-time', 'time', 'uri', 'uuid', 'ipv4'),
  }),
  fc.record({
    type: fc.constant('string'),
    minLength: fc.nat(8),
    maxLength: fc.integer({ min: 3, max: 12 }),
  }),
  fc.record({
    type: fc.constant('string'),
    pattern: fc.constantFrom('^[a-z]+$', '^[A-Z]{3}$', '\\d', '^\\S+@\\S+$'),
  }),
  fc.record({
    type: fc.constantFrom('number', 'integer'),
    minimum: fc.integer({ min: -5, max: 10 }),
    maximum: fc.integer({ min: 3, max: 50 }),
  }),
  fc.record({ type: fc.constant('integer'), multipleOf: fc.integer({ min: 1, max: 7 }) }),
  fc.record({
    enum: fc.array(fc.constantFrom('red', 'Oslo', 5, null, true, 'EUR'), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ const: fc.constantFrom('red', 7, null, false) }),
  fc.record({ type: fc.constant(['string', 'null']) }),
  fc.constant({}),
);

const { schema } = fc.letrec<{ schema: object; object: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    tie('object'),
    fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(3) }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ not: tie('schema') }),
    fc.constant({ $ref: '#' }),
  ),
  object: fc
    .record({
      properties: fc.dictionary(fc.constantFrom(...NAMES), tie('schema'), { maxKeys: 5 }),
      required: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 4 }),
      closed: fc.boolean(),
      extra: fc.option(
        fc.constantFrom(
          { minProperties: 2 },
          { dependentRequired: { city: ['path'] } },
          { propertyNames: { maxLength: 4 } },
        ),
        { nil: {} },
      ),
    })
    .map(({ properties, required, closed, extra }) => ({
      type: 'object',
      properties,
      required,
      ...(closed ? { additionalProperties: false } : {}),
      ...extra,
    })),
}));
const inputSchema = fc.oneof(
  schema.map((each) => ({ type: 'object', ...each })),
  schema.map((inner) => ({ type: 'object', properties: { city: inner, to: inner }, required: ['city'] })),
);
const sentence = fc.array(fc.constantFrom(...WORDS), { maxLength: 24 }).map((words) => words.join(' '));

async function callsFor(said: string, definitions: readonly object[]) {
  const tools = definitions.map((definition, index) =>
    create(ToolSchema, {
      name: ['read_file', 'get_weather', 'send_money', 'open'][index] ?? `tool_${index}`,
      description: ['Reads a file', 'The weather in a city', 'Sends euros', ''][index] ?? '',
      inputSchemaJson: JSON.stringify(definition),
    }),
  );
  const call = modelCall({
    model: 'local/demo',
    messages: [
      {
        role: Role.USER,
        parts: [{ kind: { case: 'content', value: { kind: { case: 'text', value: { text: said } } } } }],
      },
    ],
    tools,
  });
  const answer = await createLocalModel()(call);
  if (answer.kind === 'failure') throw new Error(answer.failure.message);
  const parts = answer.response.message?.parts ?? [];
  const calls = parts.flatMap(({ kind }) => (kind.case === 'toolCall' ? [kind.value] : []));
  return { calls, tools, parts };
}

describe('the local model, whatever the tools and the words', () => {
  it('1.2: makes no call whose arguments its tool does not accept, and always says or calls something', async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(
        sentence,
        fc.array(inputSchema, { minLength: 1, maxLength: 4 }),
        async (said, definitions) => {
          const { calls, tools, parts } = await callsFor(said, definitions);
          expect(parts.length).toBeGreaterThan(0);
          for (const call of calls) {
            const called = tools.find((each) => each.name === call.name);
            expect(called && checkCall(called, call.arguments).status.case).toBe('valid');
            made += 1;
          }
        },
      ),
      { numRuns: 600 },
    );
    // A model that never calls would keep to it as well.
    expect(made).toBeGreaterThan(20);
  });

  it('gives the same response to the same request', async () => {
    await fc.assert(
      fc.asyncProperty(
        sentence,
        fc.array(inputSchema, { minLength: 1, maxLength: 3 }),
        async (said, definitions) => {
          const [first, second] = [await callsFor(said, definitions), await callsFor(said, definitions)];
          expect(second.parts).toEqual(first.parts);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('1.5: stays within its bounds for words without end', async () => {
    const hostile = [
      '"'.repeat(50_000),
      'a.'.repeat(50_000),
      'and '.repeat(50_000),
      "'a ".repeat(30_000),
      '1,'.repeat(40_000),
      'May 1 '.repeat(20_000),
      'read a.txt and '.repeat(5_000),
    ];
    const definition = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
    for (const said of hostile) {
      const { calls } = await callsFor(said, [definition]);
      expect(calls.length).toBeLessThanOrEqual(16);
    }
  });

  it('2.3: stays within its bounds for schemas without end', async () => {
    const tree = {
      type: 'object',
      properties: Object.fromEntries(NAMES.map((name) => [name, { $ref: '#' }])),
      required: ['city'],
    };
    const wide = {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 300 }, (_, at) => [
          `city${at}`,
          {
            anyOf: [
              { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
              { type: 'object', properties: { b: { type: 'string' } }, required: ['b'] },
            ],
          },
        ]),
      ),
    };
    for (const definition of [tree, wide]) {
      const { calls, tools } = await callsFor('read the city Oslo and a.txt', [definition]);
      const [called] = tools;
      for (const call of calls) expect(called && checkCall(called, call.arguments).status.case).toBe('valid');
    }
  });
});
