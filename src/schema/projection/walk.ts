import { MAX_REMARKS } from '../../core/limits.ts';
import { type Dialect, holdsOf } from '../dialect.ts';
import { ENFORCED_FORMATS } from '../formats.ts';
import { isJsonObject, type JsonObject, ownValue } from '../json-value.ts';
import type { Place, References } from '../references.ts';
import { conjoin } from './conjoin.ts';
import type { Profile } from './profile.ts';

/** A schema of the projection: always an object, since providers do not know booleans everywhere. */
export type Loose = JsonObject;

export interface Walk {
  readonly root: Place;
  /** The projection of a place. */
  schema(place: Place): Loose;
  /** What a reference that this walk wrote leads to, and whether that leads back to itself. */
  target(reference: string): { readonly schema: Loose; readonly recursive: boolean } | undefined;
  note(pointer: string, what: string): void;
  /** The provider cannot be told about this tool at all, for this reason. */
  giveUp(reason: string): void;
  notes(): readonly string[];
  /** Adds the definitions that the schema's references need. */
  withDefinitions(schema: Loose): Loose;
  /** Why the provider cannot be told about this tool at all. */
  readonly impossible: string | undefined;
}

const DEFINITIONS = '#/$defs/';
/** What a model reads; other annotations are for programs. */
const READ_BY_MODELS: ReadonlySet<string> = new Set(['description', 'title', 'default', 'examples']);

export function createWalk(profile: Profile, dialect: Dialect, references: References): Walk {
  const notes = new Set<string>();
  let impossible: string | undefined;
  /** Definitions by the schema that they project, and by name; a name is taken before its schema is walked. */
  const names = new Map<unknown, string>();
  const definitions = new Map<string, Loose>();
  const recursive = new Set<string>();
  const open = new Set<string>();

  const takes = (keyword: string): boolean => profile.keywords?.has(keyword) ?? true;
  const note = (pointer: string, what: string): void => {
    notes.add(`at ${pointer === '' ? 'the root' : pointer.slice(0, 200)}: ${what}`);
  };
  const away = (place: Place, keyword: string): void => note(place.pointer, `"${keyword}" is left out`);

  function schema(place: Place): Loose {
    if (!isJsonObject(place.schema)) {
      if (place.schema === false) note(place.pointer, 'that nothing is admitted is left out');
      return {};
    }
    const reference = ownValue(place.schema, '$ref') ?? ownValue(place.schema, '$dynamicRef');
    if (typeof reference !== 'string') return keywords(place, place.schema);
    const referred = refer(place, reference);
    // In draft-07 a reference hides what stands beside it.
    const beside = dialect === 'draft-07' ? {} : keywords(place, place.schema);
    if (Object.keys(beside).length === 0) return referred;
    if (profile.besideReference && !('$ref' in beside)) return { ...beside, ...referred };
    return joined(place.pointer, [beside, referred]);
  }

  function refer(place: Place, reference: string): Loose {
    const found = references.resolve(reference, place.base);
    if (found.kind !== 'found') return {};
    if (found.place.pointer === '') {
      if (profile.recursion) return { $ref: '#' };
      impossible ??= RECURSIVE;
      return {};
    }
    const key = isJsonObject(found.place.schema) ? found.place.schema : found.place.pointer;
    const name = names.get(key) ?? nameFor(found.place.pointer);
    if (open.has(name)) {
      recursive.add(name);
      if (!profile.recursion) impossible ??= RECURSIVE;
    }
    if (!names.has(key)) {
      names.set(key, name);
      open.add(name);
      definitions.set(name, schema(found.place));
      open.delete(name);
    }
    return { $ref: DEFINITIONS + name };
  }

  /** The author's own name where it is one, for the model reads it. */
  function nameFor(pointer: string): string {
    const last = (pointer.split('/').at(-1) ?? '').replaceAll(/[^\w.-]/g, '_').slice(0, 40) || 'schema';
    const taken = new Set(names.values());
    if (!taken.has(last)) return last;
    let number = 2;
    while (taken.has(`${last}_${number}`)) number += 1;
    return `${last}_${number}`;
  }

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

  function joined(pointer: string, parts: readonly Loose[]): Loose {
    return conjoin(parts, {
      resolve: (reference) => {
        const found = target(reference);
        return found === undefined || found.recursive ? undefined : found.schema;
      },
      dropped: (keyword) => note(pointer, `"${keyword}" of what has to hold together is left out`),
    });
  }

  function target(reference: string): { readonly schema: Loose; readonly recursive: boolean } | undefined {
    const name = reference.slice(DEFINITIONS.length);
    const found = definitions.get(name);
    return found && { schema: found, recursive: recursive.has(name) || open.has(name) };
  }

  function inside(place: Place, steps: readonly (string | number)[], value: unknown): Loose {
    return schema(references.inside(place, steps, value));
  }

  function insideEach(place: Place, keyword: string, value: unknown): Loose[] {
    return (Array.isArray(value) ? value : []).map((inner, index) => inside(place, [keyword, index], inner));
  }

  return {
    root: references.root,
    schema,
    target,
    note,
    giveUp(reason) {
      impossible ??= reason;
    },
    notes: () => [...notes].slice(0, MAX_REMARKS),
    withDefinitions(whole) {
      const used = new Map<string, Loose>();
      const collect = (value: unknown): void => {
        if (Array.isArray(value)) value.forEach(collect);
        if (!isJsonObject(value)) return;
        const reference = ownValue(value, '$ref');
        if (typeof reference === 'string' && reference.startsWith(DEFINITIONS)) {
          const name = reference.slice(DEFINITIONS.length);
          const found = definitions.get(name);
          if (found !== undefined && !used.has(name)) {
            used.set(name, found);
            collect(found);
          }
        }
        for (const [keyword, inner] of Object.entries(value)) {
          if (!['enum', 'const', 'default', 'examples'].includes(keyword)) collect(inner);
        }
      };
      collect(whole);
      return used.size === 0 ? whole : { ...whole, $defs: Object.fromEntries(used) };
    },
    get impossible() {
      return impossible;
    },
  };
}

const RECURSIVE = 'a schema that leads back to itself cannot be said in this form';

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
