/** What providers document about the schemas of tools, as checks that refuse. */
type Json = Readonly<Record<string, unknown>>;

export interface SchemaRules {
  readonly keywords?: ReadonlySet<string>;
  readonly formats?: ReadonlySet<string>;
  /** Keywords that may not stand at the root. */
  readonly notAtRoot: readonly string[];
  readonly refAlone: boolean;
  readonly arraysHaveItems: boolean;
  readonly lookaround: boolean;
  readonly tupleItems: boolean;
  readonly propertyName?: RegExp;
  readonly closed: boolean;
  readonly allRequired: boolean;
  readonly requiredAreProperties: boolean;
  readonly recursion: boolean;
  readonly maxMinItems?: number;
  readonly simpleEnums: boolean;
  readonly typed: boolean;
}

const ANNOTATIONS = new Set(['description', 'title', 'default', 'examples', '$defs']);

/** Every breach of the rules, with its place. */
export function breaches(root: unknown, rules: SchemaRules, place = 'parameters'): string[] {
  if (!isObject(root) || root['type'] !== 'object') return [`${place}: schema must have type "object"`];
  const found: string[] = [];
  for (const keyword of rules.notAtRoot) {
    if (keyword in root) found.push(`${place}: ${keyword} is not allowed at the top level`);
  }
  walk(root, rules, place, root, [], found);
  return found;
}

function walk(
  schema: unknown,
  rules: SchemaRules,
  place: string,
  root: Json,
  path: readonly unknown[],
  found: string[],
): void {
  if (typeof schema === 'boolean') return;
  if (!isObject(schema)) {
    found.push(`${place}: not a schema`);
    return;
  }
  const wrong = (what: string): number => found.push(`${place}: ${what}`);
  for (const keyword of Object.keys(schema)) {
    if (!ANNOTATIONS.has(keyword) && keyword !== '$ref' && rules.keywords?.has(keyword) === false)
      wrong(`${keyword} is not permitted`);
  }
  if ('$ref' in schema) {
    const target = resolve(root, String(schema['$ref']));
    if (target === undefined) wrong(`unresolved reference ${String(schema['$ref'])}`);
    if (rules.refAlone && Object.keys(schema).length > 1) wrong('$ref cannot have keywords beside it');
    if (!rules.recursion && path.includes(target)) wrong('recursive schemas are not supported');
    if (target !== undefined && !path.includes(target))
      walk(target, rules, place, root, [...path, target], found);
    return;
  }
  const { type, properties, required, items, format, pattern, minItems, additionalProperties } = schema;
  const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'));
  const anObject = type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (rules.typed && !['type', 'enum', 'const', 'anyOf', 'allOf'].some((keyword) => keyword in schema))
    wrong('schema must have a type');
  if (isArray && rules.arraysHaveItems && !('items' in schema)) wrong('array schema missing items');
  if (Array.isArray(items)) wrong('items is not of type object or boolean');
  if ('prefixItems' in schema && !rules.tupleItems) wrong('prefixItems is not permitted');
  if (typeof format === 'string' && rules.formats?.has(format) === false)
    wrong(`format ${format} is not supported`);
  if (typeof pattern === 'string' && !rules.lookaround && /\(\?<?[=!]/.test(pattern))
    wrong('lookaround is not supported in pattern');
  if (typeof minItems === 'number' && minItems > (rules.maxMinItems ?? Number.POSITIVE_INFINITY))
    wrong('minItems is not supported');
  if (
    rules.simpleEnums &&
    Array.isArray(schema['enum']) &&
    !schema['enum'].every((value) => ['string', 'number'].includes(typeof value))
  ) {
    wrong('enum values must be strings or numbers');
  }
  const names = isObject(properties) ? Object.keys(properties) : [];
  const needed = Array.isArray(required) ? required : [];
  for (const name of names) {
    if (schema === root && rules.propertyName?.test(name) === false)
      wrong(`property keys should match ${rules.propertyName}`);
  }
  if (rules.closed && anObject && additionalProperties !== false) wrong('additionalProperties must be false');
  if (rules.allRequired && anObject && names.some((name) => !needed.includes(name)))
    wrong('required must hold every key of properties');
  if (rules.requiredAreProperties && needed.some((name) => !names.includes(String(name))))
    wrong('required names an undefined property');
  for (const [keyword, value] of Object.entries(schema)) {
    if (
      ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'].includes(
        keyword,
      )
    ) {
      walk(value, rules, `${place}.${keyword}`, root, path, found);
    } else if (['anyOf', 'oneOf', 'allOf', 'prefixItems'].includes(keyword) && Array.isArray(value)) {
      for (const [at, inner] of value.entries())
        walk(inner, rules, `${place}.${keyword}[${at}]`, root, path, found);
    } else if (
      ['properties', 'patternProperties', '$defs', 'dependentSchemas'].includes(keyword) &&
      isObject(value)
    ) {
      for (const [name, inner] of Object.entries(value))
        walk(inner, rules, `${place}.${keyword}.${name}`, root, path, found);
    }
  }
}

function resolve(root: Json, reference: string): unknown {
  if (reference === '#') return root;
  const [, name] = /^#\/\$defs\/(.+)$/.exec(reference) ?? [];
  const definitions = root['$defs'];
  return name !== undefined && isObject(definitions) ? definitions[name] : undefined;
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const STRUCTURE = [
  'type',
  'enum',
  'properties',
  'required',
  'items',
  'additionalProperties',
  'anyOf',
  'const',
];
const FORMATS = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
]);
const LOOSE: Omit<SchemaRules, 'notAtRoot'> = {
  refAlone: false,
  arraysHaveItems: false,
  lookaround: true,
  tupleItems: true,
  closed: false,
  allRequired: false,
  requiredAreProperties: false,
  recursion: true,
  simpleEnums: false,
  typed: false,
};

export const ANTHROPIC_RULES: SchemaRules = {
  ...LOOSE,
  notAtRoot: ['anyOf', 'oneOf', 'allOf'],
  propertyName: /^[\w.-]{1,64}$/,
};
export const ANTHROPIC_STRICT_RULES: SchemaRules = {
  ...ANTHROPIC_RULES,
  keywords: new Set([...STRUCTURE, 'allOf', 'pattern', 'format', 'minItems']),
  formats: new Set([...FORMATS, 'uri']),
  tupleItems: false,
  lookaround: false,
  closed: true,
  recursion: false,
  maxMinItems: 1,
  typed: true,
};
export const OPENAI_RULES: SchemaRules = {
  ...LOOSE,
  notAtRoot: ['anyOf', 'oneOf', 'allOf', 'not', 'enum'],
  arraysHaveItems: true,
  tupleItems: false,
  lookaround: false,
};
export const OPENAI_STRICT_RULES: SchemaRules = {
  ...OPENAI_RULES,
  keywords: new Set([
    ...STRUCTURE,
    ...[
      'minimum',
      'maximum',
      'exclusiveMinimum',
      'exclusiveMaximum',
      'multipleOf',
      'pattern',
      'format',
      'minItems',
      'maxItems',
    ],
  ]),
  formats: FORMATS,
  refAlone: true,
  closed: true,
  allRequired: true,
  requiredAreProperties: true,
  typed: true,
};
export const GOOGLE_RULES: SchemaRules = {
  ...LOOSE,
  notAtRoot: ['anyOf', 'oneOf'],
  keywords: new Set([
    ...STRUCTURE.filter((keyword) => keyword !== 'const'),
    ...['oneOf', 'format', 'minItems', 'maxItems', 'minimum', 'maximum', 'prefixItems'],
  ]),
  refAlone: true,
  requiredAreProperties: true,
  simpleEnums: true,
};

export function rulesOf(kind: string, strict: boolean): SchemaRules {
  switch (kind) {
    case 'anthropic':
      return strict ? ANTHROPIC_STRICT_RULES : ANTHROPIC_RULES;
    case 'google':
      return GOOGLE_RULES;
    default:
      return strict ? OPENAI_STRICT_RULES : OPENAI_RULES;
  }
}
