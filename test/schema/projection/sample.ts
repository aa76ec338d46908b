type Json = Readonly<Record<string, unknown>>;

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'a@b.example',
  uri: 'https://a.example/',
  url: 'https://a.example/',
  uuid: '0c8f1c52-9d3d-4c1f-8a0e-2f6f0a7f4a11',
};

/** A value that a schema in plain words admits: every property of the first two levels, the least of the rest. */
export function sampleOf(root: Json): unknown {
  return sample(root, root, 0);
}

function sample(schema: unknown, root: Json, depth: number): unknown {
  if (!isObject(schema)) return 'x';
  const { $ref, enum: values, anyOf, oneOf, allOf } = schema;
  if (typeof $ref === 'string') return sample(resolve(root, $ref), root, depth + 1);
  if ('const' in schema) return schema['const'];
  if (Array.isArray(values)) return values[0];
  for (const branches of [anyOf, oneOf]) {
    if (Array.isArray(branches) && !('properties' in schema)) return sample(branches[0], root, depth);
  }
  if (Array.isArray(allOf) && allOf.length === 1) return sample(allOf[0], root, depth);
  const type = Array.isArray(schema['type']) ? schema['type'][0] : schema['type'];
  switch (type) {
    case 'object':
    case undefined:
      return objectOf(schema, root, depth);
    case 'array':
      return Array.from({ length: Math.max(depth > 3 ? 0 : 1, number(schema['minItems'], 0)) }, () =>
        sample(schema['items'], root, depth + 1),
      );
    case 'integer':
    case 'number': {
      const least = number(
        schema['minimum'],
        number(schema['exclusiveMinimum'], 0) + (schema['exclusiveMinimum'] === undefined ? 0 : 1),
      );
      return Math.min(Math.max(least, 1), number(schema['maximum'], Number.MAX_SAFE_INTEGER));
    }
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return FORMATS[String(schema['format'])] ?? 'x'.repeat(Math.max(1, number(schema['minLength'], 1)));
  }
}

function objectOf({ properties, required }: Json, root: Json, depth: number): Json {
  const names = Array.isArray(required) ? required.map(String) : [];
  const all = isObject(properties) ? properties : {};
  const entries = Object.entries(all).filter(([name]) => depth < 2 || names.includes(name));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sample(inner, root, depth + 1)]));
}

function resolve(root: Json, reference: string): unknown {
  return reference
    .slice(2)
    .split('/')
    .reduce<unknown>(
      (at, step) => (isObject(at) ? at[step.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined),
      root,
    );
}

function number(value: unknown, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
