import { isJsonObject, jsonTypeOf } from './json-value.ts';
import type { Plain, SchemaFault } from './plain.ts';
import { children, inPlace, type PlainObject, type PlainSchema, target } from './plain-schema.ts';

/**
 * A schema that leads back to itself for the same value has no meaning, and would never end. Undefined where
 * there is none; recursion that descends into the value, such as that of a tree, is fine.
 */
export function findLoop({ schema: root, origin }: Plain): SchemaFault | undefined {
  const done = new Set<PlainObject>();
  const open = new Set<PlainObject>();
  const loops = (schema: PlainSchema): boolean => {
    if (typeof schema === 'boolean' || done.has(schema)) return false;
    if (open.has(schema)) return true;
    open.add(schema);
    const found = inPlace(schema, root).some(loops);
    open.delete(schema);
    done.add(schema);
    return found;
  };
  for (const schema of everySchema(root)) {
    if (!loops(schema)) continue;
    const problem = 'leads back to its own schema without descending into the value: break the circle';
    return { pointer: origin.get(schema) ?? '', keyword: '$ref', problem };
  }
  return undefined;
}

/** Whether an object could match, as far as the schema says in plain words (2.2). The schema has no loop. */
export function admitsObject(root: PlainSchema): boolean {
  // A definition may be referred to exponentially often; it is judged once.
  const known = new Map<PlainObject, boolean>();
  const judge = (schema: PlainObject): boolean =>
    (schema.type?.includes('object') ?? true) &&
    (!('const' in schema) || isJsonObject(schema.const)) &&
    (schema.enum?.some(isJsonObject) ?? true) &&
    (schema.$ref === undefined || admits(target(root, schema.$ref))) &&
    (schema.allOf?.every(admits) ?? true) &&
    (schema.anyOf?.some(admits) ?? true) &&
    (schema.oneOf?.some(admits) ?? true) &&
    !refusesObjects(schema.not);
  const admits = (schema: PlainSchema): boolean => {
    if (typeof schema === 'boolean') return schema;
    const verdict = known.get(schema) ?? judge(schema);
    known.set(schema, verdict);
    return verdict;
  };
  return admits(root);
}

function refusesObjects(not: PlainSchema | undefined): boolean {
  if (not === undefined || typeof not === 'boolean') return not === true;
  const keywords = Object.keys(not);
  return keywords.length === 0 || (keywords.length === 1 && not.type?.includes('object') === true);
}

/** Whether a schema takes values of the type of this one; true where it does not say. */
export function admitsTypeOf(schema: PlainSchema, root: PlainSchema, value: unknown): boolean {
  if (typeof schema === 'boolean') return schema;
  if (schema.$ref !== undefined && !admitsTypeOf(target(root, schema.$ref), root, value)) return false;
  const parts = [schema, ...(schema.allOf ?? [])];
  return parts.every(
    (part) => typeof part === 'boolean' || part.type === undefined || hasType(part.type, value),
  );
}

export function hasType(types: readonly string[], value: unknown): boolean {
  const type = jsonTypeOf(value);
  return types.includes(type) || (type === 'integer' && types.includes('number'));
}

export function usesUnevaluated(root: PlainSchema): boolean {
  for (const schema of everySchema(root)) {
    if (schema.unevaluatedItems !== undefined || schema.unevaluatedProperties !== undefined) return true;
  }
  return false;
}

function* everySchema(schema: PlainSchema): Iterable<PlainObject> {
  if (typeof schema === 'boolean') return;
  yield schema;
  for (const inner of children(schema)) yield* everySchema(inner);
}
