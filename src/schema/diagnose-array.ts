import type { SchemaViolation } from '../../gen/spindle/v1/tool_pb.ts';
import { hasUniqueItems } from './assertions.ts';
import { type Diagnosis, violationsOf } from './diagnose.ts';
import { evaluatedBy } from './evaluated.ts';
import { childPointer } from './json-value.ts';
import type { PlainObject } from './plain-schema.ts';
import { counted, schemaText, violation } from './violation.ts';

/** What is wrong with an array and its items. */
export function diagnoseArray(
  schema: PlainObject,
  items: readonly unknown[],
  path: string,
  diagnosis: Diagnosis,
): SchemaViolation[] {
  const { prefixItems = [], items: rest, contains, minItems, maxItems } = schema;
  const found: SchemaViolation[] = [];
  if (minItems !== undefined && items.length < minItems) {
    found.push(violation(path, 'minItems', `must have at least ${counted(minItems, 'item')}`));
  }
  if (maxItems !== undefined && items.length > maxItems) {
    found.push(violation(path, 'maxItems', `must have at most ${counted(maxItems, 'item')}`));
  }
  if (schema.uniqueItems === true && !hasUniqueItems(items, diagnosis.budget)) {
    found.push(violation(path, 'uniqueItems', 'must not have the same item twice'));
  }
  if (rest === false && items.length > prefixItems.length) {
    found.push(violation(path, 'items', `must have at most ${counted(prefixItems.length, 'item')}`));
  }
  for (const [index, item] of items.entries()) {
    const inner = prefixItems[index] ?? (index < prefixItems.length || rest === false ? undefined : rest);
    if (inner === undefined) continue;
    found.push(...violationsOf(inner, item, childPointer(path, index), diagnosis));
  }
  if (contains !== undefined) {
    const matching = items.filter(
      (item) => violationsOf(contains, item, path, diagnosis).length === 0,
    ).length;
    const form = schemaText(contains, diagnosis.root);
    const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = schema;
    if (matching < minContains) {
      found.push(
        violation(
          path,
          'contains',
          `must contain at least ${counted(minContains, 'item')} of the form ${form}`,
        ),
      );
    }
    if (matching > maxContains) {
      found.push(
        violation(
          path,
          'contains',
          `must contain at most ${counted(maxContains, 'item')} of the form ${form}`,
        ),
      );
    }
  }
  if (schema.unevaluatedItems !== undefined) {
    const { unevaluatedItems } = schema;
    const { all, members } = evaluatedBy(schema, items, diagnosis);
    for (const [index, item] of all ? [] : [...items.entries()].filter(([at]) => !members.has(at))) {
      found.push(...violationsOf(unevaluatedItems, item, childPointer(path, index), diagnosis));
    }
  }
  return found;
}
