import { MAX_REMARKS } from '../../core/limits.ts';
import type { Dialect } from '../dialect.ts';
import { isJsonObject, type JsonObject, ownValue } from '../json-value.ts';
import type { Place, References } from '../references.ts';
import { conjoin } from './conjoin.ts';
import { createKeywords } from './keywords.ts';
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
export function createWalk(profile: Profile, dialect: Dialect, references: References): Walk {
  const notes = new Set<string>();
  let impossible: string | undefined;
  /** Definitions by the schema that they project, and by name; a name is taken before its schema is walked. */
  const names = new Map<unknown, string>();
  const definitions = new Map<string, Loose>();
  const recursive = new Set<string>();
  const open = new Set<string>();

  const note = (pointer: string, what: string): void => {
    notes.add(`at ${pointer === '' ? 'the root' : pointer.slice(0, 200)}: ${what}`);
  };
  const keywords = createKeywords({ profile, dialect, note, inside, joined });

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
