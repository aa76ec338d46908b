import { type Diagnosis, violationsOf } from './diagnose.ts';
import { isJsonObject } from './json-value.ts';
import { matchesPattern } from './pattern.ts';
import { type PlainObject, type PlainSchema, target } from './plain-schema.ts';

/** Which members of a value some keyword has judged: keys of an object, places of an array. */
export interface Evaluated {
  all: boolean;
  readonly members: Set<string | number>;
}

/**
 * What a schema that matches a value has judged of it, for `unevaluatedProperties` and `unevaluatedItems`
 * (JSON Schema 2020-12, 11). A branch that does not match has judged nothing.
 */
export function evaluatedBy(schema: PlainSchema, value: unknown, diagnosis: Diagnosis): Evaluated {
  const evaluated: Evaluated = { all: false, members: new Set() };
  gather(schema, value, diagnosis, evaluated, false);
  return evaluated;
}

/** `whole` is false for the schema that asks, whose own `unevaluated…` is what is being judged. */
function gather(
  schema: PlainSchema,
  value: unknown,
  diagnosis: Diagnosis,
  into: Evaluated,
  whole = true,
): void {
  if (typeof schema === 'boolean') return;
  const inner = (part: PlainSchema): void => gather(part, value, diagnosis, into);
  const matches = (part: PlainSchema): boolean => violationsOf(part, value, '', diagnosis).length === 0;
  if (schema.$ref !== undefined) inner(target(diagnosis.root, schema.$ref));
  for (const part of schema.allOf ?? []) inner(part);
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) if (matches(part)) inner(part);
  if (schema.if !== undefined) {
    const holds = matches(schema.if);
    if (holds) inner(schema.if);
    const branch = holds ? schema.then : schema.else;
    if (branch !== undefined) inner(branch);
  }
  if (isJsonObject(value)) gatherKeys(schema, value, diagnosis, into, whole);
  if (Array.isArray(value)) gatherItems(schema, value, diagnosis, into, whole);
}

function gatherKeys(
  schema: PlainObject,
  value: object,
  diagnosis: Diagnosis,
  into: Evaluated,
  whole: boolean,
): void {
  if (schema.additionalProperties !== undefined) into.all = true;
  if (whole && schema.unevaluatedProperties !== undefined) into.all = true;
  const patterns = Object.keys(schema.patternProperties ?? {}).flatMap((source) => {
    return diagnosis.patterns.get(source) ?? [];
  });
  for (const key of Object.keys(value)) {
    const named = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    if (named || patterns.some((pattern) => matchesPattern(pattern, key, diagnosis.budget)))
      into.members.add(key);
  }
}

function gatherItems(
  schema: PlainObject,
  items: readonly unknown[],
  diagnosis: Diagnosis,
  into: Evaluated,
  whole: boolean,
): void {
  if (schema.items !== undefined) into.all = true;
  if (whole && schema.unevaluatedItems !== undefined) into.all = true;
  for (const index of (schema.prefixItems ?? []).keys()) into.members.add(index);
  const { contains } = schema;
  if (contains === undefined) return;
  for (const [index, item] of items.entries()) {
    if (violationsOf(contains, item, '', diagnosis).length === 0) into.members.add(index);
  }
}
