import { isJsonObject, type JsonObject } from '../json-value.ts';
import { type ConjoinOptions, conjoin } from './conjoin.ts';
import type { Profile } from './profile.ts';
import type { Loose, Walk } from './walk.ts';

/** What stands at a root that is one object. */
const PLAIN_AT_ROOT: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'description',
  'title',
  'default',
  'examples',
  'minProperties',
  'maxProperties',
  'patternProperties',
  'propertyNames',
]);

/**
 * The root as an object, which providers want. A union of objects becomes one object with the properties of all: which
 * of them go together is left out.
 */
export function flatRoot(root: Loose, walk: Walk, profile: Profile): Loose {
  const options: ConjoinOptions = {
    resolve: (reference) => walk.target(reference)?.schema,
    dropped: (keyword) => walk.note('', `"${keyword}" of what has to hold together is left out`),
  };
  const whole = profile.plainRoot ? flat(root, walk, options) : root;
  const made: Record<string, unknown> = { ...whole, type: 'object' };
  // Providers take an object without properties for a mistake where it does not say that there are none.
  made['properties'] = named(made['properties'], made['required'], walk, profile);
  const { type, description, properties, required, additionalProperties, ...rest } = made;
  const optional = Object.entries({ description, properties, required, additionalProperties });
  return { type, ...Object.fromEntries(optional.filter(([, value]) => value !== undefined)), ...rest };
}

/** The properties whose names the provider takes; it looks at those of the root alone. */
function named(properties: unknown, required: unknown, walk: Walk, { propertyNames }: Profile): JsonObject {
  const entries = Object.entries(isJsonObject(properties) ? properties : {});
  const taken = entries.filter(([name]) => {
    if (propertyNames?.test(name) !== false) return true;
    const shown = JSON.stringify(name.slice(0, 80));
    if (Array.isArray(required) && required.includes(name)) {
      walk.giveUp(`the required property ${shown} has a name that the provider refuses`);
    } else {
      walk.note('', `the property ${shown} is left out: the provider refuses its name`);
    }
    return false;
  });
  return Object.fromEntries(taken);
}

function flat(root: Loose, walk: Walk, options: ConjoinOptions): Loose {
  const { allOf, anyOf, oneOf, $ref, ...own } = root;
  const parts: JsonObject[] = [own];
  if (typeof $ref === 'string') {
    const found = options.resolve($ref);
    if (found !== undefined) parts.push(flat(found, walk, options));
  }
  if (Array.isArray(allOf))
    parts.push(...allOf.filter(isJsonObject).map((part) => flat(part, walk, options)));
  for (const branches of [anyOf, oneOf]) {
    if (Array.isArray(branches)) parts.push(united(branches.filter(isJsonObject), walk, options));
  }
  const whole = parts.length === 1 ? own : conjoin(parts, options);
  const kept = Object.entries(whole).filter(([keyword]) => {
    if (PLAIN_AT_ROOT.has(keyword)) return true;
    walk.note('', `"${keyword}" is left out`);
    return false;
  });
  return Object.fromEntries(kept);
}

/** One object for any of several: every property of any, required where every branch requires it. */
function united(branches: readonly JsonObject[], walk: Walk, options: ConjoinOptions): JsonObject {
  const objects = branches.map((branch) => flat(branch, walk, options)).filter(admitsObjects);
  if (objects.length > 1) walk.note('', 'which properties go together is left out');
  const variants = new Map<string, JsonObject[]>();
  for (const { properties } of objects) {
    for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {})) {
      variants.set(name, [...(variants.get(name) ?? []), isJsonObject(schema) ? schema : {}]);
    }
  }
  const properties = Object.fromEntries([...variants].map(([name, schemas]) => [name, anyOf(schemas)]));
  const [first, ...others] = objects.map(({ required }) => (Array.isArray(required) ? required : []));
  const required = (first ?? []).filter((name) => others.every((names) => names.includes(name)));
  const closed = objects.length > 0 && objects.every((branch) => branch['additionalProperties'] === false);
  return {
    type: 'object',
    ...(variants.size === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
    ...(closed ? { additionalProperties: false } : {}),
  };
}

function admitsObjects({ type }: JsonObject): boolean {
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** Tags that differ by branch become one list of values; anything else that differs, a union. */
function anyOf(schemas: readonly JsonObject[]): JsonObject {
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  const [only] = distinct;
  if (only !== undefined && distinct.length === 1) return only;
  const tags = distinct.map(tagsOf);
  if (tags.includes(undefined)) return { anyOf: distinct };
  return { type: 'string', enum: [...new Set(tags.flatMap((values) => values ?? []))] };
}

function tagsOf(schema: JsonObject): readonly string[] | undefined {
  const values = 'const' in schema ? [schema['const']] : schema['enum'];
  const bare = Object.keys(schema).every((keyword) =>
    ['const', 'enum', 'type', 'description'].includes(keyword),
  );
  if (!bare || !Array.isArray(values)) return undefined;
  const texts = values.filter((value) => typeof value === 'string');
  return texts.length === values.length ? texts : undefined;
}
