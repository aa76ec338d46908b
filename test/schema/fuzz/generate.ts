import type { RandomSource } from './random.ts';

/** One case: a schema's text, and a text of arguments. Either may be valid, or damaged. */
export interface FuzzCase {
  readonly schema: string;
  readonly text: string;
}

const KEYS = [
  'a',
  'b',
  'c',
  'kind',
  '',
  '__proto__',
  'constructor',
  'prototype',
  'valueOf',
  'toString',
  'a/b',
  'x~y',
  "it's",
  '$ref',
  'é',
] as const;
const STRINGS = [
  '',
  'a',
  'x',
  'cat',
  'dog',
  '2024-02-30',
  'a@b.c',
  'http://x/',
  '😀',
  '```',
  '{}',
  '"',
  "'",
  '\\',
  '//',
  '\u2028',
  'aaaaaaaaaaaaaaaaaaaa!',
] as const;
const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1',
  '4.35',
  '1e3',
  '1E-7',
  '12345678901234567890',
  '1e400',
  '0.1',
] as const;
const PATTERNS = [
  '^a',
  '(a|a)*$',
  '^(a+)+$',
  '\\d+',
  '[^]',
  '^\\S+@\\S+$',
  '(?=a)',
  '(.)\\1',
  '[',
  '\\p{L}',
  '^[\\w-.]+$',
  '\\u{1f600}',
  'a{1,2000}',
  '$^',
  '.*',
] as const;
const FORMATS = [
  'date',
  'date-time',
  'email',
  'uri',
  'uuid',
  'ipv6',
  'byte',
  'regex',
  'uint',
  'constructor',
  '__proto__',
  'duration',
  'hostname',
  'int32',
  'json-pointer',
] as const;
const REFERENCES = [
  '#',
  '#/$defs/a',
  '#/$defs/b',
  '#/properties/a',
  '#/definitions/a',
  '#a',
  '#/nope',
  'http://x/',
  'x.json',
  '#/%',
  '#/$defs/__proto__',
  '',
] as const;
const DIALECTS = [
  '"http://json-schema.org/draft-07/schema#"',
  '"https://json-schema.org/draft/2020-12/schema"',
  '"http://other/"',
  '1',
] as const;
const TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'array', 'object', 'unknown'] as const;
const DAMAGE = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  "'",
  '\\',
  '/*',
  '*/',
  '//',
  '```',
  '```json\n',
  ' ',
  '\n',
  '\t',
  '\0',
  '\ufeff',
  '\ud800',
  '\\ud800',
  '\\u0061',
  'true',
  'nul',
  '1',
  '-',
  '.',
  'e',
  'NaN',
  '{"a":1}',
  '"a":',
  'undefined',
  '<|end|>',
] as const;

export function fuzzCase(random: RandomSource): FuzzCase {
  const schema = schemaText(random, 3);
  const text = `{${members(random, 3)}}`;
  return {
    schema: random.below(10) === 0 ? damaged(random, schema) : schema,
    text: random.below(2) === 0 ? dressed(random, damaged(random, text)) : text,
  };
}

function valueText(random: RandomSource, depth: number): string {
  const kind = random.below(depth > 0 ? 8 : 5);
  if (kind === 0) return random.pick(NUMBERS);
  if (kind === 1) return random.pick(['true', 'false', 'null']);
  if (kind < 5) return JSON.stringify(random.pick(STRINGS));
  if (kind === 5) return `[${several(random, () => valueText(random, depth - 1))}]`;
  return `{${members(random, depth - 1)}}`;
}

/** Keys that may repeat. */
function members(random: RandomSource, depth: number): string {
  return several(random, () => `${JSON.stringify(random.pick(KEYS))}:${valueText(random, depth)}`);
}

function several(random: RandomSource, make: () => string): string {
  return Array.from({ length: random.below(4) }, make).join(random.pick([',', ',', ', ', ' ,\n']));
}

function schemaText(random: RandomSource, depth: number): string {
  if (depth === 0 || random.below(12) === 0) return random.pick(['{}', 'true', 'false', '{"type":"string"}']);
  const keywords = new Map<string, string>();
  for (let count = random.below(5); count >= 0; count -= 1) {
    const [keyword, value] = keywordText(random, depth - 1);
    keywords.set(keyword, value);
  }
  return `{${[...keywords].map(([keyword, value]) => `"${keyword}":${value}`).join()}}`;
}

function keywordText(random: RandomSource, depth: number): [string, string] {
  const schema = (): string => schemaText(random, depth);
  const list = (): string => `[${[schema(), ...Array.from({ length: random.below(3) }, schema)].join()}]`;
  const table = (name: () => string): string => {
    const names = new Set(Array.from({ length: 1 + random.below(3) }, name));
    return `{${[...names].map((key) => `${JSON.stringify(key)}:${schema()}`).join()}}`;
  };
  const key = (): string => random.pick(KEYS);
  const names = (): string => JSON.stringify([...new Set([key(), key()])]);
  const size = (): string => String(random.below(4));
  switch (random.below(16)) {
    case 0:
      return ['type', random.below(4) === 0 ? '["string","null"]' : JSON.stringify(random.pick(TYPES))];
    case 1:
    case 2:
      return ['properties', table(key)];
    case 3:
      return ['required', names()];
    case 4:
      return [
        random.pick([
          'additionalProperties',
          'items',
          'contains',
          'not',
          'if',
          'then',
          'else',
          'propertyNames',
        ]),
        schema(),
      ];
    case 5:
      return [random.pick(['unevaluatedProperties', 'unevaluatedItems', 'additionalItems']), schema()];
    case 6:
      return [random.pick(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']), list()];
    case 7:
      return [random.pick(['const', 'default']), valueText(random, 1)];
    case 8:
      return ['enum', `[${valueText(random, 1)},"cat"]`];
    case 9:
      return [
        random.pick([
          'minLength',
          'maxLength',
          'minItems',
          'maxItems',
          'maxProperties',
          'minProperties',
          'minContains',
        ]),
        size(),
      ];
    case 10:
      return [random.pick(['minimum', 'maximum', 'exclusiveMinimum', 'multipleOf']), random.pick(NUMBERS)];
    case 11:
      return random.below(2) === 0
        ? ['pattern', JSON.stringify(random.pick(PATTERNS))]
        : ['patternProperties', table(() => random.pick(PATTERNS))];
    case 12:
      return ['format', JSON.stringify(random.pick(FORMATS))];
    case 13:
      return [random.pick(['$ref', '$ref', '$dynamicRef']), JSON.stringify(random.pick(REFERENCES))];
    case 14:
      return [
        random.pick(['$defs', 'definitions', 'dependentSchemas', 'dependencies']),
        table(() => random.pick(['a', 'b', '__proto__'])),
      ];
    default:
      return random.pick([
        ['$schema', random.pick(DIALECTS)],
        ['$id', JSON.stringify(random.pick(['#a', 'http://x/', '__proto__', 'x.json']))],
        ['$anchor', '"a"'],
        ['uniqueItems', 'true'],
        ['dependentRequired', `{"__proto__":${names()},"a":${names()}}`],
        [
          random.pick(['nullable', 'x-y', '$async', 'discriminator', '$comment', 'constructor']),
          random.pick(['true', '"x"']),
        ],
      ]);
  }
}

/** Takes out, doubles or replaces a few spans. */
function damaged(random: RandomSource, text: string): string {
  let result = text;
  for (let count = random.below(3); count >= 0; count -= 1) {
    const start = random.below(result.length + 1);
    const end = Math.min(result.length, start + random.below(6));
    const middle = random.pick(['', random.pick(DAMAGE), result.slice(start, end).repeat(2)]);
    result = result.slice(0, start) + middle + result.slice(random.below(2) === 0 ? start : end);
  }
  return random.below(5) === 0 ? result.slice(0, random.below(result.length + 1)) : result;
}

/** Puts around a text what models put around it. */
function dressed(random: RandomSource, text: string): string {
  switch (random.below(10)) {
    case 0:
      return `\`\`\`json\n${text}\n\`\`\``;
    case 1:
      return JSON.stringify(text);
    case 2:
      return `${text} as you asked.`;
    case 3:
      return text.replaceAll('"', "'");
    case 4:
      return text.replaceAll(',', ',,').replaceAll('}', ',}');
    case 5:
      return random.pick(DAMAGE).repeat(1 + random.below(2_000));
    default:
      return text;
  }
}
