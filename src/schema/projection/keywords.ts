import { type Dialect, holdsOf } from '../dialect.ts';
import { ENFORCED_FORMATS } from '../formats.ts';
import { isJsonObject, type JsonObject, ownValue } from '../json-value.ts';
import type { Place } from '../references.ts';
import type { Profile } from './profile.ts';
import type { Loose } from './walk.ts';

/** What the keywords of a schema need of the walk over the document. */
export interface KeywordsContext {
  readonly profile: Profile;
  readonly dialect: Dialect;
  readonly note: (pointer: string, what: string) => void;
  /** The projection of what stands inside a place. */
  readonly inside: (place: Place, steps: readonly (string | number)[], value: unknown) => Loose;
  /** One schema for what has to hold together. */
  readonly joined: (pointer: string, parts: readonly Loose[]) => Loose;
}

/** What a model reads; other annotations are for programs. */
const READ_BY_MODELS: ReadonlySet<string> = new Set(['description', 'title', 'default', 'examples']);

/** Projects the keywords of a schema, its reference apart: kept, said otherwise, or left out with a note. */
export function createKeywords({
  profile,
  dialect,
  note,
  inside,
  joined,
}: KeywordsContext): (place: Place, from: JsonObject) => Loose {
  const takes = (keyword: string): boolean => profile.keywords?.has(keyword) ?? true;
  const away = (place: Place, keyword: string): void => note(place.pointer, `"${keyword}" is left out`);
  const insideEach = (place: Place, keyword: string, value: unknown): Loose[] =>
    (Array.isArray(value) ? value : []).map((inner, index) => inside(place, [keyword, index], inner));

  function keywords(place: Place, from: JsonObject): Loose {
    const made: Record<string, unknown> = {};
    const also: Loose[] = [];
    for (const [keyword, value] of Object.entries(from)) {
      const holds = holdsOf(dialect, keyword);
      if ((holds === 'annotation' || holds === 'assertion') && overflows(value)) {
        away(place, keyword);
      } else if (holds === 'annotation') {
        if (READ_BY_MODELS.has(keyword)) made[keyword] = value;
      } else if (holds !== undefined && holds !== 'reference') {
        keywordOf(place, keyword, value, made, also);
      }
    }
    if (profile.itemsRequired && mayBeArray(made) && !('items' in made)) made['items'] = {};
    return also.length === 0 ? made : joined(place.pointer, [made, ...also]);
  }

  function keywordOf(
    place: Place,
    keyword: string,
    value: unknown,
    made: Record<string, unknown>,
    also: Loose[],
  ): void {
    switch (keyword) {
      case '$defs':
      case 'definitions':
        return;
      case 'properties':
        made[keyword] = properties(place, value);
        return;
      case 'items':
        if (Array.isArray(value))
          tuple(place, value, ownValue(asObject(place.schema), 'additionalItems'), keyword, made);
        else if (!Array.isArray(ownValue(asObject(place.schema), 'prefixItems'))) {
          made[keyword] = value === false ? noItems(made) : inside(place, [keyword], value);
        }
        return;
      case 'prefixItems':
        if (Array.isArray(value))
          tuple(place, value, ownValue(asObject(place.schema), 'items'), keyword, made);
        return;
      case 'additionalItems':
        return;
      case 'dependencies':
        // Of draft-07 alone, and split in two by 2020-12.
        away(place, keyword);
        return;
      case 'additionalProperties':
        // Without the patterns, nobody could tell which properties are additional.
        if (value !== true && !takes('patternProperties') && 'patternProperties' in asObject(place.schema)) {
          away(place, keyword);
          return;
        }
        made[keyword] = typeof value === 'boolean' ? value : inside(place, [keyword], value);
        return;
      case 'const':
        if (takes(keyword)) made[keyword] = value;
        else enumOf(place, keyword, [value], made);
        return;
      case 'enum':
        enumOf(place, keyword, Array.isArray(value) ? value : [], made);
        return;
      case 'format':
        if (takes(keyword) && (profile.formats?.has(String(value)) ?? true)) made[keyword] = value;
        else if (ENFORCED_FORMATS.has(String(value)))
          note(place.pointer, `the format "${String(value)}" is left out`);
        return;
      case 'pattern':
        if (takes(keyword) && (profile.lookaround || !/\(\?<?[=!]/.test(String(value))))
          made[keyword] = value;
        else away(place, keyword);
        return;
      case 'minItems': {
        const least = Math.min(Number(value), profile.maxMinItems);
        if (!takes(keyword)) away(place, keyword);
        else made[keyword] = least;
        if (takes(keyword) && least < Number(value)) note(place.pointer, `"minItems" is said as ${least}`);
        return;
      }
      case 'exclusiveMinimum':
      case 'exclusiveMaximum': {
        const inclusive = keyword === 'exclusiveMinimum' ? 'minimum' : 'maximum';
        if (takes(keyword)) made[keyword] = value;
        else {
          if (takes(inclusive) && !(inclusive in asObject(place.schema))) made[inclusive] = value;
          note(place.pointer, `"${keyword}" is ${takes(inclusive) ? `said as "${inclusive}"` : 'left out'}`);
        }
        return;
      }
      case 'oneOf':
        if (!takes(keyword)) note(place.pointer, '"oneOf" is said as "anyOf"');
        alternatives(place, keyword, value, made, also);
        return;
      case 'anyOf':
        alternatives(place, keyword, value, made, also);
        return;
      case 'allOf': {
        const all = insideEach(place, keyword, value);
        if (takes(keyword)) made[keyword] = all;
        else also.push(...all);
        return;
      }
      default:
        if (takes(keyword)) made[keyword] = plainValue(place, keyword, value);
        else away(place, keyword);
    }
  }

  /** `anyOf`, and `oneOf` where it is said so; a second one of the two has to hold beside the first. */
  function alternatives(
    place: Place,
    keyword: string,
    value: unknown,
    made: Record<string, unknown>,
    also: Loose[],
  ): void {
    const branches = insideEach(place, keyword, value);
    const said = takes(keyword) ? keyword : 'anyOf';
    if (said in made) also.push({ [said]: branches });
    else made[said] = branches;
  }

  function plainValue(place: Place, keyword: string, value: unknown): unknown {
    switch (holdsOf(dialect, keyword)) {
      case 'schema':
        return typeof value === 'boolean' ? value : inside(place, [keyword], value);
      case 'schemas':
        return insideEach(place, keyword, value);
      case 'named':
        return Object.fromEntries(
          Object.entries(asObject(value)).map(([name, inner]) => [
            name,
            typeof inner === 'boolean' ? inner : inside(place, [keyword, name], inner),
          ]),
        );
      default:
        return value;
    }
  }

  function properties(place: Place, value: unknown): Loose {
    const entries = Object.entries(asObject(value)).flatMap(([name, inner]): [string, Loose][] => {
      // A property that nothing may be is one that has to be absent.
      if (inner === false) {
        note(
          place.pointer,
          `that the property ${JSON.stringify(name.slice(0, 80))} has to be absent is left out`,
        );
        return [];
      }
      return [[name, inside(place, ['properties', name], inner)]];
    });
    return Object.fromEntries(entries);
  }

  function enumOf(
    place: Place,
    keyword: string,
    values: readonly unknown[],
    made: Record<string, unknown>,
  ): void {
    const simple = values.every((value) => typeof value === 'string' || typeof value === 'number');
    if (profile.anyEnum || simple) made['enum'] = values;
    else away(place, keyword);
  }

  /** Items by place: said so, or as items each of which is one of them. */
  function tuple(
    place: Place,
    value: readonly unknown[],
    rest: unknown,
    keyword: string,
    made: Record<string, unknown>,
  ): void {
    const prefix = value.map((inner, index) => inside(place, [keyword, index], inner));
    const others = keyword === 'items' ? 'additionalItems' : 'items';
    const last = rest === undefined || typeof rest === 'boolean' ? undefined : inside(place, [others], rest);
    if (profile.tuples && takes('prefixItems')) {
      made['prefixItems'] = prefix;
      if (last !== undefined) made['items'] = last;
      else if (rest === false)
        made['maxItems'] = Math.min(prefix.length, Number(made['maxItems'] ?? prefix.length));
      return;
    }
    note(place.pointer, 'which item stands at which place is left out');
    const open = last === undefined && rest !== false;
    const kinds = [...prefix, ...(last === undefined ? [] : [last])];
    made['items'] = open ? {} : distinct(kinds).length === 1 ? kinds[0] : { anyOf: distinct(kinds) };
    if (rest === false && takes('maxItems')) made['maxItems'] = prefix.length;
  }

  function noItems(made: Record<string, unknown>): Loose {
    if (takes('maxItems')) made['maxItems'] = 0;
    return {};
  }

  return keywords;
}

function mayBeArray({ type }: Readonly<Record<string, unknown>>): boolean {
  return type === 'array' || (Array.isArray(type) && type.includes('array'));
}

function distinct(schemas: readonly Loose[]): Loose[] {
  return [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Whether a value holds a number that was too large to be read: JSON has none for it. */
function overflows(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(overflows);
}
