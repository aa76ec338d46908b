import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { spend } from './budget.ts';
import { type Diagnosis, STEP, violationsOf } from './diagnose.ts';
import { evaluatedBy } from './evaluated.ts';
import { childPointer, isJsonObject, type JsonObject, ownValue } from './json-value.ts';
import { matchesPattern } from './pattern.ts';
import type { PlainObject, PlainSchema } from './plain-schema.ts';
import { choices, counted, quotedName, schemaText, violation } from './violation.ts';

/** What is wrong with an object and its members. */
export function diagnoseObject(
  schema: PlainObject,
  value: unknown,
  path: string,
  diagnosis: Diagnosis,
): SchemaViolation[] {
  if (!isJsonObject(value)) return [];
  const keys = Object.keys(value);
  const { minProperties, maxProperties, propertyNames } = schema;
  spend(diagnosis.budget, STEP * (keys.length + (schema.required?.length ?? 0)));
  const found = missingKeys(schema, value, path);
  if (minProperties !== undefined && keys.length < minProperties) {
    found.push(
      violation(
        path,
        'minProperties',
        `must have at least ${counted(minProperties, 'property', 'properties')}`,
      ),
    );
  }
  if (maxProperties !== undefined && keys.length > maxProperties) {
    found.push(
      violation(
        path,
        'maxProperties',
        `must have at most ${counted(maxProperties, 'property', 'properties')}`,
      ),
    );
  }
  for (const key of keys) {
    found.push(...member(schema, key, value[key], path, diagnosis));
    if (propertyNames !== undefined && violationsOf(propertyNames, key, path, diagnosis).length > 0) {
      const form = schemaText(propertyNames, diagnosis.root);
      const message = `must not have a property named ${quotedName(key)}; names have the form ${form}`;
      found.push(violation(path, 'propertyNames', message));
    }
  }
  if (schema.unevaluatedProperties !== undefined) {
    const evaluated = evaluatedBy(schema, value, diagnosis);
    for (const key of evaluated.all ? [] : keys.filter((each) => !evaluated.members.has(each))) {
      found.push(...unevaluated(schema.unevaluatedProperties, key, value[key], path, diagnosis));
    }
  }
  return found;
}

function unevaluated(
  schema: PlainSchema,
  key: string,
  value: unknown,
  path: string,
  diagnosis: Diagnosis,
): SchemaViolation[] {
  if (schema !== false) return violationsOf(schema, value, childPointer(path, key), diagnosis);
  return [violation(path, 'unevaluatedProperties', `must not have the property ${quotedName(key)}`)];
}

function missingKeys(schema: PlainObject, value: JsonObject, path: string): SchemaViolation[] {
  const missing = (names: readonly string[]): string[] => names.filter((name) => !Object.hasOwn(value, name));
  const required = missing(schema.required ?? []).map((name) => {
    const inner = ownValue(schema.properties ?? {}, name);
    const type = typeof inner === 'object' ? inner.type : undefined;
    const kind = type === undefined ? '' : ` (${type.join(' or ')})`;
    return violation(path, 'required', `must have the property ${quotedName(name)}${kind}`);
  });
  const dependent = Object.entries(schema.dependentRequired ?? {})
    .filter(([name]) => Object.hasOwn(value, name))
    .flatMap(([name, names]) => missing(names).map((other) => [name, other] as const))
    .map(([name, other]) => {
      const message = `must have the property ${quotedName(other)} beside ${quotedName(name)}`;
      return violation(path, 'dependentRequired', message);
    });
  return [...required, ...dependent];
}

function member(
  schema: PlainObject,
  key: string,
  value: unknown,
  path: string,
  diagnosis: Diagnosis,
): SchemaViolation[] {
  const own = ownValue(schema.properties ?? {}, key);
  const matching = Object.entries(schema.patternProperties ?? {}).filter(([source]) => {
    const pattern = diagnosis.patterns.get(source);
    return pattern !== undefined && matchesPattern(pattern, key, diagnosis.budget);
  });
  const schemas = [...(own === undefined ? [] : [own]), ...matching.map(([, inner]) => inner)];
  const { additionalProperties } = schema;
  if (schemas.length === 0 && additionalProperties === false) {
    const known = Object.keys(schema.properties ?? {});
    const allowed = known.length === 0 ? 'none is allowed' : `allowed are ${choices(known)}`;
    return [
      violation(path, 'additionalProperties', `must not have the property ${quotedName(key)}; ${allowed}`),
    ];
  }
  if (schemas.length === 0 && additionalProperties !== undefined) schemas.push(additionalProperties);
  return schemas.flatMap((inner) => violationsOf(inner, value, childPointer(path, key), diagnosis));
}
