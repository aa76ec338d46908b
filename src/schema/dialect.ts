/** The dialects of JSON Schema that are understood, and what each keyword of theirs holds (2.1). */
export type Dialect = '2020-12' | 'draft-07';

/** Where schemas stand inside the value of a keyword. */
export type Holds =
  /** No schema; the value asserts something. */
  | 'assertion'
  | 'schema'
  | 'schemas'
  /** Schemas under names: property names, patterns, definitions. */
  | 'named'
  /** The items of draft-07: one schema, or one for each place. */
  | 'items'
  /** Under each name a schema, or a list of required names. */
  | 'dependencies'
  /** Identifies or refers, and is gone once references are resolved. */
  | 'reference'
  /** Says something to people or to other programs. */
  | 'annotation';

const SHARED: Readonly<Record<string, Holds>> = {
  $schema: 'reference',
  $id: 'reference',
  $ref: 'reference',
  $comment: 'annotation',
  title: 'annotation',
  description: 'annotation',
  default: 'annotation',
  examples: 'annotation',
  readOnly: 'annotation',
  writeOnly: 'annotation',
  contentEncoding: 'annotation',
  contentMediaType: 'annotation',
  definitions: 'named',
  type: 'assertion',
  enum: 'assertion',
  const: 'assertion',
  multipleOf: 'assertion',
  maximum: 'assertion',
  exclusiveMaximum: 'assertion',
  minimum: 'assertion',
  exclusiveMinimum: 'assertion',
  maxLength: 'assertion',
  minLength: 'assertion',
  pattern: 'assertion',
  format: 'assertion',
  maxItems: 'assertion',
  minItems: 'assertion',
  uniqueItems: 'assertion',
  contains: 'schema',
  maxProperties: 'assertion',
  minProperties: 'assertion',
  required: 'assertion',
  properties: 'named',
  patternProperties: 'named',
  additionalProperties: 'schema',
  propertyNames: 'schema',
  dependencies: 'dependencies',
  allOf: 'schemas',
  anyOf: 'schemas',
  oneOf: 'schemas',
  not: 'schema',
  if: 'schema',
  // biome-ignore lint/suspicious/noThenProperty: the keyword is called so, and nothing awaits this table.
  then: 'schema',
  else: 'schema',
};

const KEYWORDS: Readonly<Record<Dialect, ReadonlyMap<string, Holds>>> = {
  'draft-07': new Map<string, Holds>([
    ...Object.entries(SHARED),
    ['items', 'items'],
    ['additionalItems', 'schema'],
  ]),
  '2020-12': new Map<string, Holds>([
    ...Object.entries(SHARED),
    ['$anchor', 'reference'],
    ['$dynamicAnchor', 'reference'],
    ['$dynamicRef', 'reference'],
    ['$vocabulary', 'annotation'],
    ['$defs', 'named'],
    ['deprecated', 'annotation'],
    ['contentSchema', 'annotation'],
    ['items', 'schema'],
    ['prefixItems', 'schemas'],
    ['minContains', 'assertion'],
    ['maxContains', 'assertion'],
    ['dependentRequired', 'assertion'],
    ['dependentSchemas', 'named'],
    ['unevaluatedItems', 'schema'],
    ['unevaluatedProperties', 'schema'],
  ]),
};

/** Undefined where the dialect has no such keyword: it annotates, as the specification says. */
export function holdsOf(dialect: Dialect, keyword: string): Holds | undefined {
  return KEYWORDS[dialect].get(keyword);
}

/**
 * Keywords of other vocabularies that assert, transform or execute something in validators that know them.
 * To drop them in silence would check less than the author wrote; so they are refused (2.3). What is neither
 * here nor in the dialect annotates: published schemas are full of `example`, `x-order` and the like.
 */
export const REFUSED_KEYWORDS: ReadonlySet<string> = new Set([
  '$async',
  '$data',
  '$merge',
  '$patch',
  '$recursiveRef',
  'instanceof',
  'typeof',
  'range',
  'exclusiveRange',
  'regexp',
  'transform',
  'uniqueItemProperties',
  'allRequired',
  'anyRequired',
  'oneRequired',
  'patternRequired',
  'prohibited',
  'deepProperties',
  'deepRequired',
  'dynamicDefaults',
  'select',
  'selectCases',
  'selectDefault',
  'formatMinimum',
  'formatMaximum',
  'formatExclusiveMinimum',
  'formatExclusiveMaximum',
]);

const URIS: Readonly<Record<Dialect, string>> = {
  '2020-12': 'json-schema.org/draft/2020-12/schema',
  'draft-07': 'json-schema.org/draft-07/schema',
};

/** The dialect that `$schema` names; 2020-12 where it is absent, undefined where it is another (2.1). */
export function dialectOf(uri: unknown): Dialect | undefined {
  if (uri === undefined) return '2020-12';
  if (typeof uri !== 'string') return undefined;
  const bare = uri.replace(/^https?:\/\//, '').replace(/#$/, '');
  if (bare === URIS['2020-12']) return '2020-12';
  return bare === URIS['draft-07'] ? 'draft-07' : undefined;
}

export interface Subschema {
  readonly steps: readonly (string | number)[];
  readonly schema: unknown;
}

/** The schemas right inside the value of a keyword, with the steps that lead to each. */
export function subschemasOf(holds: Holds, value: unknown): Subschema[] {
  switch (holds) {
    case 'schema':
      return [{ steps: [], schema: value }];
    case 'items':
      return subschemasOf(Array.isArray(value) ? 'schemas' : 'schema', value);
    case 'schemas':
      return Array.isArray(value) ? value.map((schema, index) => ({ steps: [index], schema })) : [];
    case 'named':
    case 'dependencies':
      return typeof value === 'object' && value !== null
        ? Object.entries(value)
            .filter(([, schema]) => !Array.isArray(schema))
            .map(([name, schema]) => ({ steps: [name], schema }))
        : [];
    case 'assertion':
    case 'reference':
    case 'annotation':
      return [];
  }
}
