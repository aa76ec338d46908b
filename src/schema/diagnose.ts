import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_CHECK_STEPS, MAX_DIAGNOSIS_STEPS, MAX_VIOLATIONS } from '../core/limits.ts';
import { type Budget, spend, within } from './budget.ts';
import { diagnoseArray } from './diagnose-array.ts';
import { diagnoseObject } from './diagnose-object.ts';
import { diagnoseScalar } from './diagnose-scalar.ts';
import { diagnoseUnion } from './diagnose-union.ts';
import type { Pattern } from './pattern.ts';
import type { Plain } from './plain.ts';
import { type PlainObject, type PlainSchema, target } from './plain-schema.ts';
import { hasType } from './shape.ts';
import { schemaText, violation } from './violation.ts';

export type Check = 'matches' | 'differs' | 'spent';

/** What a walk over a value and its schema needs. */
export interface Diagnosis {
  readonly root: PlainSchema;
  readonly patterns: ReadonlyMap<string, Pattern>;
  readonly budget: Budget;
}

/** One schema on one value, or one key on one object, costs about this much. */
export const STEP = 20;

/** Finds what is wrong with one value by one schema. */
export function violationsOf(
  schema: PlainSchema,
  value: unknown,
  path: string,
  diagnosis: Diagnosis,
): SchemaViolation[] {
  spend(diagnosis.budget, STEP);
  if (schema === true) return [];
  if (schema === false) return [violation(path, 'false schema', 'is not allowed here')];
  const wrongType = wrongTypeOf(schema, value, path);
  if (wrongType !== undefined) return [wrongType];
  const follow = (inner: PlainSchema): SchemaViolation[] => violationsOf(inner, value, path, diagnosis);
  return [
    ...(schema.$ref === undefined ? [] : follow(target(diagnosis.root, schema.$ref))),
    ...(schema.allOf ?? []).flatMap(follow),
    ...conditional(schema, follow, path, diagnosis.root),
    ...diagnoseUnion(schema, value, path, diagnosis),
    ...diagnoseScalar(schema, value, path, diagnosis),
    ...(Array.isArray(value) ? diagnoseArray(schema, value, path, diagnosis) : []),
    ...diagnoseObject(schema, value, path, diagnosis),
  ];
}

/**
 * Words for a value that a validator has refused (1.9): the violations that are deepest in the value first, for
 * they are the most specific. None where finding them costs too much.
 */
export function diagnose(plain: Plain, value: unknown): readonly SchemaViolation[] {
  const found = walk(plain, value, MAX_DIAGNOSIS_STEPS);
  if (found === 'spent') return [];
  const unique = new Map(found.map((each) => [`${each.instancePath} ${each.keyword} ${each.message}`, each]));
  return [...unique.values()].toSorted((left, right) => depth(right) - depth(left)).slice(0, MAX_VIOLATIONS);
}

/** The verdict of the walk itself, for schemas that are not compiled. */
export function checkByWalk(plain: Plain, value: unknown): Check {
  const found = walk(plain, value, MAX_CHECK_STEPS);
  if (found === 'spent') return 'spent';
  return found.length === 0 ? 'matches' : 'differs';
}

function walk({ schema, patterns }: Plain, value: unknown, steps: number): SchemaViolation[] | 'spent' {
  const budget: Budget = { left: 0 };
  const diagnosis: Diagnosis = { root: schema, patterns, budget };
  return within(budget, steps, () => violationsOf(schema, value, '', diagnosis));
}

function depth({ instancePath }: SchemaViolation): number {
  return instancePath.split('/').length;
}

function wrongTypeOf(schema: PlainObject, value: unknown, path: string): SchemaViolation | undefined {
  if (schema.type === undefined || hasType(schema.type, value)) return undefined;
  return violation(path, 'type', `must be ${schema.type.join(' or ')}`);
}

function conditional(
  schema: PlainObject,
  follow: (inner: PlainSchema) => SchemaViolation[],
  path: string,
  root: PlainSchema,
): SchemaViolation[] {
  const { not } = schema;
  const excluded = not !== undefined && follow(not).length === 0 ? [not] : [];
  const branch =
    schema.if === undefined ? undefined : follow(schema.if).length === 0 ? schema.then : schema.else;
  return [
    ...excluded.map((form) => violation(path, 'not', `must not have the form ${schemaText(form, root)}`)),
    ...(branch === undefined ? [] : follow(branch)),
  ];
}
