import type { PlainObject, PlainSchema } from './plain-schema.ts';

/**
 * Keywords of our own, put into the copy of a schema that is compiled. Without them one check could take
 * seconds: a reference taken twice in each of 64 levels, or ten thousand branches over a million items.
 */
export const COST = 'spindleCost';
/** Charges each own key of an object; for keywords that walk them all. */
export const KEY_COST = 'spindleKeyCost';

type Costed = boolean | { [keyword: string]: unknown };

/** A call of another function, and an error that a failing branch leaves behind, cost as much as keywords. */
const CALL_SIZE = 20;
const BRANCH_SIZE = 10;

const NAMED = ['$defs', 'properties', 'patternProperties'] as const;
const LISTS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const SINGLE = ['not', 'if', 'then', 'else'] as const;
/** Applied once for each item or key, as often as the value wants. */
const REPEATED = [
  'items',
  'contains',
  'unevaluatedItems',
  'additionalProperties',
  'propertyNames',
  'unevaluatedProperties',
] as const;
const WALK_KEYS = [
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'unevaluatedProperties',
] as const;

/**
 * Each schema that can be applied many times charges its own size; the size includes what is applied at most
 * once each time, and ends at references, which charge for themselves.
 */
export function withCosts(schema: PlainSchema): Costed {
  return charged(schema).costed;
}

interface Charged {
  readonly costed: Costed;
  readonly size: number;
}

/** A schema that charges for its whole size whenever it is applied. */
function charged(schema: PlainSchema): Charged {
  const { costed, size } = copied(schema);
  if (typeof costed === 'object' && size > 1) costed[COST] = size;
  return { costed, size };
}

function copied(schema: PlainSchema): Charged {
  if (typeof schema === 'boolean') return { costed: schema, size: 1 };
  const costed: { [keyword: string]: unknown } = { ...schema };
  let size = 1 + Object.keys(schema).length + (schema.required?.length ?? 0);
  const once = (inner: PlainSchema): Costed => {
    const copy = copied(inner);
    size += copy.size;
    return copy.costed;
  };
  const own = (inner: PlainSchema): Costed => charged(inner).costed;
  if (schema.$ref !== undefined) size += CALL_SIZE;
  size += BRANCH_SIZE * ((schema.anyOf?.length ?? 0) + (schema.oneOf?.length ?? 0));
  for (const keyword of SINGLE) set(costed, keyword, schema[keyword], once);
  for (const keyword of REPEATED) set(costed, keyword, schema[keyword], own);
  for (const keyword of LISTS) set(costed, keyword, schema[keyword], (inners) => inners.map(once));
  for (const keyword of NAMED) {
    const copy = keyword === '$defs' || keyword === 'patternProperties' ? own : once;
    set(costed, keyword, schema[keyword], (inners) => mapped(inners, copy));
  }
  const walks = WALK_KEYS.filter((keyword) => schema[keyword] !== undefined).length;
  if (walks > 0) costed[KEY_COST] = walks;
  return { costed, size };
}

function set<Value>(
  costed: { [keyword: string]: unknown },
  keyword: keyof PlainObject,
  value: Value | undefined,
  copy: (value: Value) => unknown,
): void {
  if (value !== undefined) costed[keyword] = copy(value);
}

function mapped(inners: Readonly<Record<string, PlainSchema>>, copy: (inner: PlainSchema) => Costed): object {
  return Object.fromEntries(Object.entries(inners).map(([name, inner]) => [name, copy(inner)]));
}
