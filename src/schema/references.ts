import { type Dialect, holdsOf, subschemasOf } from './dialect.ts';
import { childPointer, isJsonObject, type JsonObject, ownValue } from './json-value.ts';

/** A schema inside a document, where it stands, and what its references are relative to. */
export interface Place {
  readonly schema: unknown;
  readonly pointer: string;
  readonly base: string;
}

export type Resolution =
  | { readonly kind: 'found'; readonly place: Place }
  /** It names a document that this one does not hold; nothing is ever fetched (2.3). */
  | { readonly kind: 'remote' }
  /** This document holds no such place. */
  | { readonly kind: 'missing' };

export interface References {
  readonly root: Place;
  resolve(reference: string, base: string): Resolution;
  /** How many dynamic anchors have a name. With one alone, nothing about `$dynamicRef` is dynamic. */
  dynamicAnchors(name: string): number;
  /** Where a schema inside another stands. */
  inside(place: Place, steps: readonly (string | number)[], schema: unknown): Place;
}

/** What a schema without an `$id` is relative to. */
const NO_BASE = 'schema://here/';

/** Finds what a document identifies: resources by `$id`, places by anchors (2.3). Each document stands alone. */
export function indexReferences(document: unknown, dialect: Dialect): References {
  const resources = new Map<string, Place>();
  const anchors = new Map<string, Place>();
  const dynamic = new Map<string, number>();

  function placeOf(schema: unknown, pointer: string, base: string): Place {
    const id = idOf(schema, dialect);
    const renamed = id === undefined || id.startsWith('#') ? base : absolute(id.replace(/#$/, ''), base);
    return { schema, pointer, base: renamed };
  }

  function index(place: Place): void {
    const { schema, base, pointer } = place;
    if (!isJsonObject(schema)) return;
    const id = idOf(schema, dialect);
    // In draft-07 an `$id` that is a fragment alone is an anchor.
    if (id !== undefined)
      put(id.startsWith('#') ? anchors : resources, id.startsWith('#') ? base + id : base, place);
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      const name = dialect === '2020-12' ? ownValue(schema, keyword) : undefined;
      if (typeof name !== 'string') continue;
      put(anchors, `${base}#${name}`, place);
      if (keyword === '$dynamicAnchor') dynamic.set(name, (dynamic.get(name) ?? 0) + 1);
    }
    for (const [keyword, value] of Object.entries(schema)) {
      const holds = holdsOf(dialect, keyword);
      if (holds === undefined) continue;
      for (const { steps, schema: inner } of subschemasOf(holds, value)) {
        index(placeOf(inner, [keyword, ...steps].reduce(childPointer, pointer), base));
      }
    }
  }

  /** Follows a JSON Pointer in a URI's fragment. */
  function follow(from: Place, fragment: string): Place | undefined {
    let place: Place = from;
    for (const encoded of fragment.slice(1).split('/')) {
      const step = decodeStep(encoded);
      if (step === undefined) return undefined;
      const inner = stepInto(place.schema, step);
      if (inner === undefined) return undefined;
      place = placeOf(inner, childPointer(place.pointer, step), place.base);
    }
    return isJsonObject(place.schema) || typeof place.schema === 'boolean' ? place : undefined;
  }

  const root = placeOf(document, '', NO_BASE);
  resources.set(NO_BASE, root);
  resources.set(root.base, root);
  index(root);

  return {
    root,
    resolve(reference, base) {
      const hash = reference.indexOf('#');
      const uri = hash === -1 ? reference : reference.slice(0, hash);
      const fragment = hash === -1 ? '' : reference.slice(hash + 1);
      const target = uri === '' ? base : absolute(uri, base);
      const resource = resources.get(target);
      if (resource === undefined) return { kind: 'remote' };
      if (fragment === '') return { kind: 'found', place: resource };
      const place = fragment.startsWith('/')
        ? follow(resource, fragment)
        : anchors.get(`${target}#${fragment}`);
      return place === undefined ? { kind: 'missing' } : { kind: 'found', place };
    },
    dynamicAnchors: (name) => dynamic.get(name) ?? 0,
    inside: (place, steps, schema) => placeOf(schema, steps.reduce(childPointer, place.pointer), place.base),
  };
}

/** The first of two that share a name stands: copies of one schema often do. */
function put(map: Map<string, Place>, name: string, place: Place): void {
  if (!map.has(name)) map.set(name, place);
}

/** In draft-07 a reference hides what stands beside it, an `$id` too. */
function idOf(schema: unknown, dialect: Dialect): string | undefined {
  if (!isJsonObject(schema)) return undefined;
  const id = ownValue(schema, '$id');
  const hidden = dialect === 'draft-07' && typeof ownValue(schema, '$ref') === 'string';
  return typeof id === 'string' && !hidden ? id : undefined;
}

function absolute(uri: string, base: string): string {
  return URL.parse(uri, base)?.href ?? uri;
}

function stepInto(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return /^(?:0|[1-9]\d*)$/.test(step) ? value[Number(step)] : undefined;
  return isJsonObject(value) ? ownValue(value satisfies JsonObject, step) : undefined;
}

function decodeStep(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    // A stray per cent sign: the fragment names nothing.
    return undefined;
  }
}
