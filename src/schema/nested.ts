/**
 * The schema of an object with one member of a given schema. References of the inner schema to itself are moved with
 * it. Blank text admits any value.
 */
export function nestedSchema(member: string, schemaJson: string): string {
  const inner: unknown = schemaJson.trim() === '' ? true : JSON.parse(schemaJson);
  const { $schema, ...rest } = isObject(inner) ? inner : { $schema: undefined };
  const moved = isObject(inner) ? move(rest, `#/properties/${member}`) : inner;
  return JSON.stringify({
    ...($schema === undefined ? {} : { $schema }),
    type: 'object',
    properties: { [member]: moved },
    required: [member],
    additionalProperties: false,
  });
}

/** A schema with an `$id` is a root of its own: references below it stay. */
function move(value: unknown, prefix: string): unknown {
  if (Array.isArray(value)) return value.map((item) => move(item, prefix));
  if (!isObject(value) || typeof value['$id'] === 'string') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const isReference = (key === '$ref' || key === '$dynamicRef') && typeof item === 'string';
      if (isReference && (item === '#' || item.startsWith('#/'))) return [key, prefix + item.slice(1)];
      // What these hold are values, not schemas.
      return [
        key,
        key === 'const' || key === 'enum' || key === 'default' || key === 'examples'
          ? item
          : move(item, prefix),
      ];
    }),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
