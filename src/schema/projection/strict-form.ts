import { isJsonObject, type JsonObject } from '../json-value.ts';
import type { StrictForm } from './profile.ts';

export type StrictSchema =
  | { readonly kind: 'strict'; readonly schema: JsonObject }
  | { readonly kind: 'inexpressible'; readonly reason: string };

interface Tally {
  properties: number;
  enumValues: number;
  optional: number;
  reason: string | undefined;
}

/** A projected schema in a provider's strict form, or why it has none. */
export function strictForm(root: JsonObject, form: StrictForm): StrictSchema {
  const tally: Tally = { properties: 0, enumValues: 0, optional: 0, reason: undefined };
  const schema = closed(root, form, tally, '', 1);
  if (tally.properties > form.maxProperties)
    tally.reason ??= `it has more than ${form.maxProperties} properties`;
  if (tally.enumValues > form.maxEnumValues)
    tally.reason ??= `it lists more than ${form.maxEnumValues} values`;
  if (!form.nullForAbsent && tally.optional > form.maxOptional) {
    tally.reason ??= `it has more than ${form.maxOptional} optional properties`;
  }
  return tally.reason === undefined
    ? { kind: 'strict', schema }
    : { kind: 'inexpressible', reason: tally.reason };
}

function closed(
  schema: JsonObject,
  form: StrictForm,
  tally: Tally,
  pointer: string,
  depth: number,
): JsonObject {
  const inexpressible = (what: string): void => {
    tally.reason ??= `${what}, at ${pointer === '' ? 'the root' : pointer.slice(0, 200)}`;
  };
  if (depth > form.maxDepth) inexpressible(`it nests more than ${form.maxDepth} levels`);
  const made: Record<string, unknown> = { ...schema };
  const { properties, items, anyOf, allOf, $defs, type } = schema;
  if (Array.isArray(schema['enum'])) tally.enumValues += schema['enum'].length;
  const isObject =
    type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
  if (isObject) Object.assign(made, closedObject(schema, form, tally, pointer, depth, inexpressible));
  else {
    // They say something of objects alone, which this is not.
    for (const keyword of ['additionalProperties', 'required']) delete made[keyword];
    if (!saysType(schema)) inexpressible('a value of any type');
  }
  if (isJsonObject(items)) made['items'] = closed(items, form, tally, `${pointer}/items`, depth + 1);
  else if (type === 'array') inexpressible('items of any type');
  for (const [keyword, branches] of Object.entries({ anyOf, allOf })) {
    if (!Array.isArray(branches)) continue;
    made[keyword] = branches
      .filter(isJsonObject)
      .map((branch, at) => closed(branch, form, tally, `${pointer}/${keyword}/${at}`, depth));
  }
  if (isJsonObject($defs)) {
    made['$defs'] = Object.fromEntries(
      Object.entries($defs)
        .filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1]))
        .map(([name, inner]) => [name, closed(inner, form, tally, `/$defs/${name}`, depth + 1)]),
    );
  }
  return made;
}

function closedObject(
  schema: JsonObject,
  form: StrictForm,
  tally: Tally,
  pointer: string,
  depth: number,
  inexpressible: (what: string) => void,
): JsonObject {
  const { additionalProperties } = schema;
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const names = Object.keys(properties);
  const open = additionalProperties !== undefined && additionalProperties !== false;
  // The root of a tool without arguments is a closed object without properties; elsewhere that is a map.
  const map = names.length === 0 && additionalProperties !== false && pointer !== '';
  if (open || map) inexpressible('an object with any properties');
  const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
  tally.properties += names.length;
  tally.optional += names.filter((name) => !required.has(name)).length;
  const made = names.map((name): [string, JsonObject] => {
    const inner = properties[name];
    const strict = closed(
      isJsonObject(inner) ? inner : {},
      form,
      tally,
      `${pointer}/properties/${name}`,
      depth + 1,
    );
    return [name, required.has(name) || !form.nullForAbsent ? strict : nullable(strict)];
  });
  return {
    // Whoever lists properties means an object, and a strict form wants it said.
    type: schema['type'] ?? 'object',
    properties: Object.fromEntries(made),
    required: form.nullForAbsent ? names : names.filter((name) => required.has(name)),
    additionalProperties: false,
  };
}

function saysType(schema: JsonObject): boolean {
  return ['type', '$ref', 'anyOf', 'allOf', 'enum', 'const'].some((keyword) => keyword in schema);
}

/** The same schema that takes null as well. */
function nullable(schema: JsonObject): JsonObject {
  const { type, description } = schema;
  if (
    '$ref' in schema ||
    'const' in schema ||
    'allOf' in schema ||
    (type === undefined && !('anyOf' in schema))
  ) {
    const { description: _, ...rest } = schema;
    return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: 'null' }] };
  }
  const made: Record<string, unknown> = { ...schema };
  if (type !== undefined) {
    const types = Array.isArray(type) ? type : [type];
    made['type'] = types.includes('null') ? type : [...types, 'null'];
  }
  if (Array.isArray(schema['enum']) && !schema['enum'].includes(null))
    made['enum'] = [...schema['enum'], null];
  if (Array.isArray(schema['anyOf'])) {
    const takesNull = schema['anyOf'].some((branch) => isJsonObject(branch) && branch['type'] === 'null');
    if (!takesNull) made['anyOf'] = [...schema['anyOf'], { type: 'null' }];
  }
  return made;
}
