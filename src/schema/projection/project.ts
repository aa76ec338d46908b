import { dialectOf } from '../dialect.ts';
import { isJsonObject, type JsonObject, ownValue } from '../json-value.ts';
import { indexReferences } from '../references.ts';
import { flatRoot } from './flat-root.ts';
import { type ProfileKind, profileOf } from './profile.ts';
import { strictForm } from './strict-form.ts';
import { createWalk, type Walk } from './walk.ts';

export interface Projected {
  /** What the provider gets: JSON Schema 2020-12, its root of type `object`. */
  readonly schema: JsonObject;
  /** The provider enforces it while it samples. */
  readonly strict: boolean;
  /** The model writes null for what it leaves out (2.6). */
  readonly nullForAbsent: boolean;
  /** What the provider is not told and the engine enforces all the same, one sentence each. */
  readonly notes: readonly string[];
}

export type Projection =
  | { readonly kind: 'projected'; readonly projected: Projected }
  /** The provider would refuse the whole request for this tool, so it goes without it. */
  | { readonly kind: 'impossible'; readonly reason: string };

const ANY_OBJECT: JsonObject = { type: 'object', properties: {} };

/**
 * What a kind of provider is told about a tool's arguments (2.6). The schema is one that was registered (2.2); an
 * empty text stands for no schema. What a projection takes away only ever loosens: whatever the tool's own schema
 * admits, the projected one admits, but for the closed objects of strict forms. Never throws for a registered schema.
 */
export function project(kind: ProfileKind, inputSchemaJson: string, wantsStrict: boolean): Projection {
  if (inputSchemaJson.trim() === '') return projected(ANY_OBJECT, false, []);
  const document: unknown = JSON.parse(inputSchemaJson);
  const loose = projectFor(kind, document, false);
  const profile = profileOf(kind, wantsStrict);
  if (!wantsStrict || profile.strict === undefined || loose.kind === 'impossible') return loose;
  const strict = projectFor(kind, document, true);
  if (strict.kind === 'projected') return strict;
  const remark = `sent without strict: ${strict.reason}`;
  return projected(loose.projected.schema, false, [remark, ...loose.projected.notes]);
}

function projectFor(kind: ProfileKind, document: unknown, strict: boolean): Projection {
  const profile = profileOf(kind, strict);
  if (!isJsonObject(document)) return projected(ANY_OBJECT, false, []);
  const dialect = dialectOf(ownValue(document, '$schema')) ?? '2020-12';
  const walk = createWalk(profile, dialect, indexReferences(document, dialect));
  const whole = flatRoot(walk.schema(walk.root), walk, profile);
  const joined = walk.withDefinitions(whole);
  const schema = profile.requiredDeclared ? withDeclared(joined, walk.note, '') : joined;
  const { impossible } = walk;
  if (impossible !== undefined) return { kind: 'impossible', reason: impossible };
  if (profile.strict === undefined) return projected(schema, false, walk.notes());
  const formed = strictForm(schema, profile.strict);
  if (formed.kind === 'inexpressible') return { kind: 'impossible', reason: formed.reason };
  return projected(formed.schema, true, walk.notes(), profile.strict.nullForAbsent);
}

/** Required names that are no property go, once what has to hold together is joined: the provider refuses them. */
function withDeclared(schema: JsonObject, note: Walk['note'], pointer: string): JsonObject {
  const made = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    const at = `${pointer}/${keyword}`;
    if (['properties', '$defs'].includes(keyword) && isJsonObject(value)) {
      const inner = Object.entries(value).map(([name, each]) => [
        name,
        declared(each, note, `${at}/${name}`),
      ]);
      return [keyword, Object.fromEntries(inner)];
    }
    if (keyword === 'required' && Array.isArray(value)) {
      const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
      const kept = value.filter((name) => Object.hasOwn(properties, String(name)));
      if (kept.length < value.length) note(pointer, 'required names that are no property are left out');
      return [keyword, kept];
    }
    if (Array.isArray(value) && HOLDS_SCHEMAS.has(keyword)) {
      return [keyword, value.map((each, index) => declared(each, note, `${at}/${index}`))];
    }
    return [keyword, HOLDS_SCHEMAS.has(keyword) ? declared(value, note, at) : value];
  });
  return Object.fromEntries(
    made.filter(([keyword, value]) => keyword !== 'required' || asList(value).length > 0),
  );
}

const HOLDS_SCHEMAS: ReadonlySet<string> = new Set([
  ...['items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf', 'prefixItems'],
]);

function declared(value: unknown, note: Walk['note'], pointer: string): unknown {
  return isJsonObject(value) ? withDeclared(value, note, pointer) : value;
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function projected(
  schema: JsonObject,
  strict: boolean,
  notes: readonly string[],
  nullForAbsent = false,
): Projection {
  return { kind: 'projected', projected: { schema, strict, nullForAbsent, notes } };
}
