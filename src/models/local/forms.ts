import { MAX_LOCAL_DEPTH, MAX_LOCAL_FORMS, MAX_LOCAL_SLOTS } from '../../core/limits.ts';
import type { Plain } from '../../schema/plain.ts';
import { type PlainObject, type PlainSchema, target } from '../../schema/plain-schema.ts';
import { spaced, wordsOf } from './words.ts';

/** A place in arguments that one value of a text can fill. */
export interface Slot {
  /** Members and list items on the way to it, for people and for messages. */
  readonly path: readonly string[];
  /** The stems of its own name's words, and of the names above it. */
  readonly words: readonly string[];
  readonly context: readonly string[];
  /** What its author says about it. */
  readonly description: string;
  readonly descriptionStems: ReadonlySet<string>;
  readonly defaultValue: { readonly value: unknown } | undefined;
  /** All of them apply to the value. */
  readonly schemas: readonly PlainSchema[];
  /** Undefined: any type. */
  readonly types: ReadonlySet<string> | undefined;
  readonly choices: readonly unknown[] | undefined;
  readonly format: string;
  /** Every object above it is required too. */
  readonly required: boolean;
  /** It takes several values: it is the item of a list. */
  readonly listed: boolean;
}

/** One way in which arguments can look, with places in it for what a text says. */
export type Form =
  | { readonly kind: 'fixed'; readonly value: unknown }
  | { readonly kind: 'slot'; readonly slot: Slot; readonly nullable: boolean }
  | { readonly kind: 'list'; readonly item: Form; readonly minItems: number; readonly maxItems: number }
  | { readonly kind: 'object'; readonly members: readonly Member[] };

export interface Member {
  readonly key: string;
  readonly required: boolean;
  readonly form: Form;
}

interface Place {
  readonly path: readonly string[];
  readonly required: boolean;
  readonly listed: boolean;
  readonly depth: number;
}

/** What an author wrote beside a schema, which a plain schema no longer has. */
export type Notes = (schema: PlainObject) => { readonly description: string; readonly default?: unknown };

/**
 * The ways in which a value of a schema can look, best guess first. They say where values go, and need not be
 * exact: whatever is built from them is checked against the schema before it is used.
 */
export function formsOf(plain: Plain, notes: Notes): readonly Form[] {
  let slots = 0;
  const root = plain.schema;
  const originals = new WeakMap<PlainObject, PlainObject>();
  const notesOf = (part: PlainObject) => notes(originals.get(part) ?? part);

  function forms(schemas: readonly PlainSchema[], place: Place): readonly Form[] {
    if (place.depth > MAX_LOCAL_DEPTH || schemas.includes(false)) return [];
    const parts = schemas.flatMap((schema) => partsOf(schema, root));
    const fixed = fixedValue(parts);
    if (fixed !== undefined) return [fixed];
    const union = unionOf(parts);
    if (union !== undefined) return alternatives(union, parts, place);
    const types = typesOf(parts);
    if (
      types?.has('object') ||
      (types === undefined && parts.some(({ properties }) => properties !== undefined))
    ) {
      return objects(parts, place);
    }
    if (types?.has('array') || (types === undefined && parts.some(({ items }) => items !== undefined))) {
      return lists(parts, place);
    }
    slots += 1;
    return slots > MAX_LOCAL_SLOTS ? [] : [slotForm(parts, types, place)];
  }

  function alternatives(union: Union, parts: readonly PlainObject[], place: Place): readonly Form[] {
    const rest = parts.map((part) => {
      if (part !== union.holder) return part;
      const { [union.keyword]: _, ...copy } = part;
      originals.set(copy, originals.get(part) ?? part);
      return copy;
    });
    const branches = union.branches.filter((branch) => !isNull(branch, root));
    const flat = branches.every((branch) => partsOf(branch, root).every(isScalar));
    const nullable = branches.length < union.branches.length;
    if (flat && branches.length > 1) {
      const choices = branches.map((branch) => choicesOf(partsOf(branch, root)));
      const types = new Set(branches.flatMap((branch) => [...(typesOf(partsOf(branch, root)) ?? [])]));
      const slot = slotForm(parts, types.size === 0 ? undefined : types, place, {
        choices: choices.every((each) => each !== undefined) ? choices.flat() : undefined,
      });
      return [slot];
    }
    const found = branches
      .slice(0, MAX_LOCAL_FORMS)
      .flatMap((branch) => forms([...rest, branch], { ...place, depth: place.depth + 1 }));
    const marked = found.map((form) => (form.kind === 'slot' && nullable ? { ...form, nullable } : form));
    return marked.length === 0 && nullable ? [{ kind: 'fixed', value: null }] : marked;
  }

  function objects(parts: readonly PlainObject[], place: Place): readonly Form[] {
    const keys = new Set(parts.flatMap(({ properties }) => Object.keys(properties ?? {})));
    const requiredKeys = new Set(parts.flatMap(({ required }) => required ?? []));
    for (const key of requiredKeys) keys.add(key);
    let objectForms: Member[][] = [[]];
    for (const key of keys) {
      const declared = parts.flatMap(({ properties }) => declaredAt(properties, key));
      const extra = parts.flatMap(({ additionalProperties }) => additionalProperties ?? []);
      const inner = declared.length > 0 ? declared : extra;
      const required = requiredKeys.has(key);
      const place_ = { ...place, path: [...place.path, key], required: place.required && required };
      const found = forms(inner.length > 0 ? inner : [true], { ...place_, depth: place.depth + 1 });
      if (found.length === 0 && required) return [];
      if (found.length === 0) continue;
      objectForms = objectForms
        .flatMap((members) => found.map((form) => [...members, { key, required, form }]))
        .slice(0, MAX_LOCAL_FORMS);
    }
    return objectForms.map((members) => ({ kind: 'object', members }));
  }

  function lists(parts: readonly PlainObject[], place: Place): readonly Form[] {
    const items = parts.flatMap((part) => part.prefixItems?.[0] ?? part.items ?? []);
    const minItems = Math.max(0, ...parts.flatMap((part) => part.minItems ?? []));
    const maxItems = Math.min(...parts.flatMap((part) => part.maxItems ?? []), Number.MAX_SAFE_INTEGER);
    const inside = { ...place, listed: true, depth: place.depth + 1 };
    return forms(items.length > 0 ? items : [true], inside).map((item) => ({
      kind: 'list',
      item: withNotes(item, parts),
      minItems,
      maxItems,
    }));
  }

  /** A list's items rarely say what they are; the list does. */
  function withNotes(item: Form, parts: readonly PlainObject[]): Form {
    if (item.kind !== 'slot') return item;
    const description = `${described(parts)} ${item.slot.description}`.trim();
    return { ...item, slot: { ...item.slot, description, descriptionStems: stemsOf(description) } };
  }

  function slotForm(
    parts: readonly PlainObject[],
    types: ReadonlySet<string> | undefined,
    place: Place,
    known: { readonly choices?: readonly unknown[] | undefined } = {},
  ): Form {
    const description = described(parts);
    const fallback = parts.map(notesOf).find((note) => 'default' in note);
    return {
      kind: 'slot',
      nullable: types?.has('null') ?? false,
      slot: {
        ...bareSlot(place.path),
        description,
        descriptionStems: stemsOf(description),
        defaultValue: fallback === undefined ? undefined : { value: fallback.default },
        schemas: parts,
        types,
        choices: known.choices ?? choicesOf(parts),
        format: parts.find(({ format }) => format !== undefined)?.format ?? '',
        required: place.required,
        listed: place.listed,
      },
    };
  }

  function described(parts: readonly PlainObject[]): string {
    return parts
      .map((part) => notesOf(part).description)
      .filter((text) => text !== '')
      .join(' ');
  }

  return forms([root], { path: [], required: true, listed: false, depth: 0 }).slice(0, MAX_LOCAL_FORMS);
}

/** A place that no schema describes. */
export function bareSlot(path: readonly string[]): Slot {
  const names = path.map((key) => wordsOf(spaced(key)).map(({ stem }) => stem));
  return {
    path,
    words: names.at(-1) ?? [],
    context: names.slice(0, -1).flat(),
    description: '',
    descriptionStems: new Set(),
    defaultValue: undefined,
    schemas: [],
    types: undefined,
    choices: undefined,
    format: '',
    required: true,
    listed: false,
  };
}

interface Union {
  readonly holder: PlainObject;
  readonly keyword: 'anyOf' | 'oneOf';
  readonly branches: readonly PlainSchema[];
}

function unionOf(parts: readonly PlainObject[]): Union | undefined {
  for (const holder of parts) {
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const branches = holder[keyword];
      if (branches !== undefined) return { holder, keyword, branches };
    }
  }
  return undefined;
}

/** A schema with what it refers to and what it is put together of. No plain schema leads back to itself here. */
function partsOf(schema: PlainSchema, root: PlainSchema): PlainObject[] {
  if (typeof schema === 'boolean') return [];
  const followed = [
    ...(schema.$ref === undefined ? [] : [target(root, schema.$ref)]),
    ...(schema.allOf ?? []),
  ];
  return [schema, ...followed.slice(0, MAX_LOCAL_FORMS).flatMap((inner) => partsOf(inner, root))];
}

function typesOf(parts: readonly PlainObject[]): ReadonlySet<string> | undefined {
  const [first, ...rest] = parts.flatMap(({ type }) => (type === undefined ? [] : [type]));
  if (first === undefined) return undefined;
  return new Set(first.filter((type) => rest.every((others) => others.includes(type))));
}

function choicesOf(parts: readonly PlainObject[]): readonly unknown[] | undefined {
  for (const part of parts) {
    if (part.enum !== undefined) return part.enum;
    if ('const' in part) return [part.const];
  }
  return undefined;
}

function fixedValue(parts: readonly PlainObject[]): Form | undefined {
  const choices = choicesOf(parts);
  return choices?.length === 1 ? { kind: 'fixed', value: choices[0] } : undefined;
}

function isScalar(part: PlainObject): boolean {
  const { type, properties, items, anyOf, oneOf } = part;
  const nested = properties ?? items ?? anyOf ?? oneOf;
  return nested === undefined && !(type?.some((each) => each === 'object' || each === 'array') ?? false);
}

function isNull(schema: PlainSchema, root: PlainSchema): boolean {
  const types = typesOf(partsOf(schema, root));
  return types?.size === 1 && types.has('null');
}

function declaredAt(
  properties: Readonly<Record<string, PlainSchema>> | undefined,
  key: string,
): PlainSchema[] {
  return properties !== undefined && Object.hasOwn(properties, key) ? [properties[key] ?? true] : [];
}

function stemsOf(text: string): ReadonlySet<string> {
  return new Set(wordsOf(spaced(text)).map(({ stem }) => stem));
}
