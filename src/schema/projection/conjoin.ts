import { isJsonObject, type JsonObject } from '../json-value.ts';

export interface ConjoinOptions {
  /** What a reference leads to; undefined where it cannot be put in its place. */
  readonly resolve: (reference: string) => JsonObject | undefined;
  /** Hears of each keyword that could not be joined, and is left out. */
  readonly dropped: (keyword: string) => void;
}

const ANNOTATIONS: ReadonlySet<string> = new Set(['description', 'title', 'default', 'examples']);
const LEAST: ReadonlySet<string> = new Set([
  'minimum',
  'exclusiveMinimum',
  'minLength',
  'minItems',
  'minProperties',
]);
const MOST: ReadonlySet<string> = new Set([
  'maximum',
  'exclusiveMaximum',
  'maxLength',
  'maxItems',
  'maxProperties',
]);

/** Keywords that mean something together: two of a group are never joined. */
const GROUPS: readonly (readonly string[])[] = [
  ['if', 'then', 'else'],
  ['contains', 'minContains', 'maxContains'],
];

/**
 * One schema for what has to match all of several. Where two say the same keyword and no one keyword says both, the
 * later one goes: the result admits whatever all of them admit, and perhaps more.
 */
export function conjoin(parts: readonly JsonObject[], options: ConjoinOptions): JsonObject {
  return parts
    .map((part) => withoutReference(part, parts.length, options))
    .reduce((whole, part) => join(whole, part, options), {});
}

function withoutReference(part: JsonObject, count: number, options: ConjoinOptions): JsonObject {
  const { $ref, ...rest } = part;
  if (typeof $ref !== 'string' || (count === 1 && Object.keys(rest).length === 0)) return part;
  const found = options.resolve($ref);
  if (found === undefined) {
    // What leads back to itself cannot be put in its place; the reference says more than what is beside it.
    for (const keyword of Object.keys(rest)) if (!ANNOTATIONS.has(keyword)) options.dropped(keyword);
    return { $ref };
  }
  return join(rest, withoutReference(found, 2, options), options);
}

function join(left: JsonObject, right: JsonObject, options: ConjoinOptions): JsonObject {
  if ('$ref' in left || '$ref' in right) {
    if (Object.keys(left).length === 0) return right;
    if (Object.keys(right).length === 0) return left;
    const [kept, lost] = '$ref' in right ? [right, left] : [left, right];
    for (const keyword of Object.keys(lost)) if (!ANNOTATIONS.has(keyword)) options.dropped(keyword);
    return kept;
  }
  const whole: Record<string, unknown> = { ...left };
  // Whether a property is additional depends on the properties of its own schema alone.
  const closes = closing(left, right);
  const groups = GROUPS.filter((group) =>
    [left, right].every((side) => group.some((keyword) => keyword in side)),
  );
  const apart = new Set(groups.flat());
  for (const [keyword, value] of Object.entries(right)) {
    if (apart.has(keyword)) {
      options.dropped(keyword);
      continue;
    }
    const present = Object.hasOwn(whole, keyword) ? whole[keyword] : undefined;
    if (present === undefined) whole[keyword] = value;
    else if (JSON.stringify(present) !== JSON.stringify(value) && !ANNOTATIONS.has(keyword)) {
      const both = joinValues(keyword, present, value, options);
      if (both === undefined) options.dropped(keyword);
      else whole[keyword] = both;
    }
  }
  if (closes === undefined) delete whole['additionalProperties'];
  else whole['additionalProperties'] = closes;
  if (closes === undefined && (left['additionalProperties'] ?? right['additionalProperties']) === false) {
    options.dropped('additionalProperties');
  }
  return whole;
}

/** The value of `additionalProperties` for both; undefined: nothing is said. */
function closing(left: JsonObject, right: JsonObject): unknown {
  const [a, b] = [left['additionalProperties'], right['additionalProperties']];
  if (a === undefined && b === undefined) return undefined;
  const names = (schema: JsonObject): string =>
    JSON.stringify(Object.keys(asObject(schema['properties'])).sort());
  const same =
    names(left) === names(right) && !('patternProperties' in left) && !('patternProperties' in right);
  if (JSON.stringify(a) === JSON.stringify(b) && same) return a;
  if (
    !same &&
    !(a === undefined && !('properties' in left)) &&
    !(b === undefined && !('properties' in right))
  )
    return undefined;
  return a === undefined || a === true ? b : b === undefined || b === true ? a : undefined;
}

function joinValues(keyword: string, left: unknown, right: unknown, options: ConjoinOptions): unknown {
  switch (keyword) {
    case 'properties':
      return joinNamed(asObject(left), asObject(right), options);
    case 'required':
      return [...new Set([...asList(left), ...asList(right)])];
    case 'type':
      return joinTypes(asList(left), asList(right));
    case 'enum': {
      const texts = new Set(asList(right).map((value) => JSON.stringify(value)));
      const common = asList(left).filter((value) => texts.has(JSON.stringify(value)));
      return common.length === 0 ? undefined : common;
    }
    case 'allOf':
      return [...asList(left), ...asList(right)];
    case 'items':
      return isJsonObject(left) && isJsonObject(right) ? conjoin([left, right], options) : undefined;
    default:
      if (LEAST.has(keyword)) return Math.max(Number(left), Number(right));
      if (MOST.has(keyword)) return Math.min(Number(left), Number(right));
      return undefined;
  }
}

function joinNamed(left: JsonObject, right: JsonObject, options: ConjoinOptions): JsonObject {
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return Object.fromEntries(
    names.map((name) => {
      const both = [left, right]
        .filter((side) => Object.hasOwn(side, name))
        .map((side) => asObject(side[name]));
      return [name, both.length === 1 ? both[0] : conjoin(both, options)];
    }),
  );
}

/** A whole number is a number: where one side says `number` and the other `integer`, both is `integer`. */
function joinTypes(left: readonly unknown[], right: readonly unknown[]): unknown {
  const has = (types: readonly unknown[], type: unknown): boolean =>
    types.includes(type) || (type === 'integer' && types.includes('number'));
  const common = [...new Set([...left, ...right])].filter((type) => has(left, type) && has(right, type));
  const narrow = common.filter((type) => !(type === 'integer' && common.includes('number')));
  return narrow.length === 0 ? undefined : narrow.length === 1 ? narrow[0] : narrow;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
