import {
  MAX_SCHEMA_DEFINITIONS,
  MAX_SCHEMA_PATTERNS,
  MAX_SCHEMA_WIDTH,
  MAX_SUBSCHEMAS,
} from '../core/limits.ts';
import type { Plain, SchemaFault } from './plain.ts';
import { children, mapChildren, type PlainObject, type PlainSchema } from './plain-schema.ts';

/**
 * Ajv nests the code of each sibling inside that of the one before it, so a schema with thousands of properties
 * or branches would take gigabytes to compile, or overflow the stack. Wide keywords are split into a tree that
 * means the same; the few that cannot be are bounded.
 */

/** Siblings whose code may nest. */
const GROUP = 32;

const UNSPLITTABLE = ['oneOf', 'prefixItems', 'patternProperties', 'dependentRequired'] as const;

/** What makes a schema too large to compile (2.3); undefined where nothing does. */
export function findTooLarge({ schema, origin, patterns }: Plain): SchemaFault | undefined {
  if (patterns.size > MAX_SCHEMA_PATTERNS) {
    return {
      pointer: '',
      keyword: 'pattern',
      problem: `has more than ${MAX_SCHEMA_PATTERNS} values: use fewer`,
    };
  }
  if (typeof schema === 'object' && Object.keys(schema.$defs ?? {}).length > MAX_SCHEMA_DEFINITIONS) {
    return {
      pointer: '',
      keyword: '$ref',
      problem: `has more than ${MAX_SCHEMA_DEFINITIONS} targets: use fewer`,
    };
  }
  const pending: PlainSchema[] = [schema];
  let count = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'boolean') continue;
    const plain = next;
    const pointer = origin.get(plain) ?? '';
    count += 1;
    if (count > MAX_SUBSCHEMAS) {
      return {
        pointer,
        keyword: '',
        problem: `is one of more than ${MAX_SUBSCHEMAS} schemas: make it simpler`,
      };
    }
    const keyword = UNSPLITTABLE.find((each) => widthOf(plain, each) > MAX_SCHEMA_WIDTH);
    if (keyword !== undefined) {
      const problem = `has more than ${MAX_SCHEMA_WIDTH} entries: split it, or use "enum" or "anyOf"`;
      return { pointer, keyword, problem };
    }
    pending.push(...children(plain));
  }
  return undefined;
}

function widthOf(schema: PlainObject, keyword: (typeof UNSPLITTABLE)[number]): number {
  if (keyword === 'oneOf' && distinctScalarsOf(schema.oneOf ?? []) !== undefined) return 0;
  const inners = Object.values(schema[keyword] ?? {});
  // Items that may be anything make no code.
  return keyword === 'prefixItems' ? inners.filter((inner) => inner !== true).length : inners.length;
}

/** The same schema with nothing wide in it. */
export function narrowed(schema: PlainSchema): PlainSchema {
  if (typeof schema === 'boolean') return schema;
  const { properties, anyOf, oneOf, ...rest } = mapChildren(schema, narrowed);
  const allOf: PlainSchema[] = [...(rest.allOf ?? [])];
  const narrow: { -readonly [Keyword in keyof PlainObject]: PlainObject[Keyword] } = rest;
  const anyValues = scalarsOf(anyOf ?? []);
  if (anyValues !== undefined) allOf.push({ enum: anyValues });
  else if (anyOf !== undefined) narrow.anyOf = grouped(anyOf, (group) => ({ anyOf: group }));
  const oneValues = scalarsOf(oneOf ?? []);
  if (oneValues !== undefined && new Set(oneValues).size === oneValues.length)
    allOf.push({ enum: oneValues });
  else if (oneOf !== undefined) narrow.oneOf = oneOf;
  if (properties !== undefined) {
    const entries = Object.entries(properties);
    narrow.properties = properties;
    if (entries.length > GROUP) {
      // The names stay, for the keywords that ask which properties are known.
      narrow.properties = Object.fromEntries(entries.map(([name]) => [name, true]));
      for (const group of groups(entries)) allOf.push({ properties: Object.fromEntries(group) });
    }
  }
  if (allOf.length > 0) narrow.allOf = grouped(allOf, (group) => ({ allOf: group }));
  return narrow;
}

/** The values of a union whose branches say nothing but which scalars they take. */
function scalarsOf(branches: readonly PlainSchema[]): readonly unknown[] | undefined {
  const values: unknown[] = [];
  for (const branch of branches) {
    if (typeof branch === 'boolean') return undefined;
    const { const: only, enum: several, type, ...others } = branch;
    if (Object.keys(others).length > 0) return undefined;
    if ('const' in branch === (several !== undefined)) return undefined;
    const allowed = several ?? [only];
    if (type !== undefined && !allowed.every((value) => type.includes(typeof value))) return undefined;
    values.push(...allowed);
  }
  const scalar = values.every((value) => typeof value !== 'object' || value === null);
  return values.length > 0 && scalar ? values : undefined;
}

/** A value of two branches of `oneOf` is refused, which an `enum` could not say. */
function distinctScalarsOf(branches: readonly PlainSchema[]): readonly unknown[] | undefined {
  const values = scalarsOf(branches);
  return values !== undefined && new Set(values).size === values.length ? values : undefined;
}

function grouped(
  schemas: readonly PlainSchema[],
  wrap: (group: readonly PlainSchema[]) => PlainSchema,
): readonly PlainSchema[] {
  if (schemas.length <= GROUP) return schemas;
  return grouped(groups(schemas).map(wrap), wrap);
}

function groups<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: Math.ceil(items.length / GROUP) }, (_, index) =>
    items.slice(index * GROUP, (index + 1) * GROUP),
  );
}
