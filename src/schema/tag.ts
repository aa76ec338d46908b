import { spend } from './budget.ts';
import type { Diagnosis } from './diagnose.ts';
import { isJsonObject } from './json-value.ts';
import { type PlainObject, type PlainSchema, target } from './plain-schema.ts';

/** The property whose value says which branch of a union a value means. */
export interface Tag {
  readonly property: string;
  /** What holds the tags: `const`, or `enum` where a branch has several. */
  readonly keyword: 'const' | 'enum';
  readonly branches: ReadonlyMap<unknown, PlainSchema>;
}

/** Finds the tag of a union: a property that every branch fixes, each to values of its own. */
export function tagOf(branches: readonly PlainSchema[], diagnosis: Diagnosis): Tag | undefined {
  const fixed = branches.map((branch) => fixedProperties(branch, diagnosis));
  const first = fixed[0];
  if (first === undefined || fixed.length < 2) return undefined;
  for (const property of first.keys()) {
    spend(diagnosis.budget, branches.length);
    const tagged = fixed.map((properties) => properties.get(property));
    const values = tagged.flatMap((each) => each?.values ?? []);
    if (tagged.includes(undefined) || new Set(values).size < values.length) continue;
    const pairs = branches.flatMap((branch, index) =>
      (tagged[index]?.values ?? []).map((value): [unknown, PlainSchema] => [value, branch]),
    );
    return {
      property,
      keyword: tagged.every((each) => each?.keyword === 'const') ? 'const' : 'enum',
      branches: new Map(pairs),
    };
  }
  return undefined;
}

interface Fixed {
  readonly keyword: 'const' | 'enum';
  readonly values: readonly unknown[];
}

/** Properties whose schema is a `const` or an `enum` of scalars, followed through references and `allOf`. */
function fixedProperties(schema: PlainSchema, diagnosis: Diagnosis): Map<string, Fixed> {
  const found = new Map<string, Fixed>();
  if (typeof schema === 'boolean') return found;
  spend(diagnosis.budget, 1 + Object.keys(schema.properties ?? {}).length);
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const values = typeof inner === 'object' ? fixedValues(inner) : undefined;
    if (values !== undefined) found.set(name, values);
  }
  const parts = [
    ...(schema.$ref === undefined ? [] : [target(diagnosis.root, schema.$ref)]),
    ...(schema.allOf ?? []),
  ];
  for (const part of parts)
    for (const [name, values] of fixedProperties(part, diagnosis)) found.set(name, values);
  return found;
}

function fixedValues(schema: PlainObject): Fixed | undefined {
  const keyword = 'const' in schema ? 'const' : 'enum';
  const values = keyword === 'const' ? [schema.const] : schema.enum;
  if (values === undefined || values.length === 0) return undefined;
  const scalar = values.every((value) => !Array.isArray(value) && !isJsonObject(value));
  return scalar ? { keyword, values } : undefined;
}
