import { MAX_REMARKS } from '../core/limits.ts';
import type { Dialect } from './dialect.ts';
import type { Pattern } from './pattern.ts';
import { plainPlace, type Work } from './plain-keywords.ts';
import type { PlainObject, PlainSchema } from './plain-schema.ts';
import { indexReferences } from './references.ts';

/** Something wrong with a schema, and where (2.2). */
export interface SchemaFault {
  readonly pointer: string;
  readonly keyword: string;
  /** What is wrong, and what to do. */
  readonly problem: string;
}

export interface Plain {
  readonly schema: PlainSchema;
  /** Those that are enforced, by source. */
  readonly patterns: ReadonlyMap<string, Pattern>;
  /** What is not enforced although the author may think so. */
  readonly remarks: readonly string[];
  /** Where in the author's document each schema came from. */
  readonly origin: WeakMap<PlainObject, string>;
}

export type Plaining =
  | { readonly kind: 'plain'; readonly plain: Plain }
  | { readonly kind: 'faulty'; readonly fault: SchemaFault };

/**
 * Makes a plain schema of a document that its meta-schema accepts. `check` says what the meta-schema makes
 * of places that it did not see as schemas: what a reference finds under a keyword that nobody knows.
 */
export function plainSchema(
  document: unknown,
  dialect: Dialect,
  check: (schema: unknown) => SchemaFault | undefined,
): Plaining {
  const references = indexReferences(document, dialect);
  const work: Work = {
    dialect,
    references,
    patterns: new Map(),
    unenforced: new Set(),
    remarks: new Set(),
    annotations: new Set(),
    origin: new WeakMap(),
    names: new Map(),
    queue: [],
  };
  const root = plainPlace(references.root, work);
  const definitions: Record<string, PlainSchema> = {};
  for (let next = work.queue.shift(); next !== undefined; next = work.queue.shift()) {
    const { name, place } = next;
    const fault = check(place.schema);
    if (fault !== undefined) work.fault ??= { ...fault, pointer: place.pointer + fault.pointer };
    if (work.fault !== undefined) break;
    definitions[name] = plainPlace(place, work);
  }
  if (work.fault !== undefined) return { kind: 'faulty', fault: work.fault };
  const { patterns, origin } = work;
  let schema = root;
  if (typeof root === 'object' && work.names.size > 0) {
    schema = { ...root, $defs: definitions };
    origin.set(schema, '');
  }
  return { kind: 'plain', plain: { schema, patterns, origin, remarks: remarksOf(work) } };
}

function remarksOf({ annotations, remarks, dialect }: Work): string[] {
  const names = [...annotations].slice(0, MAX_REMARKS).map((name) => JSON.stringify(name.slice(0, 64)));
  const annotated =
    names.length === 0 ? [] : [`not keywords of ${dialect}, so they only annotate: ${names.join()}`];
  return [...annotated, ...remarks].slice(0, MAX_REMARKS);
}
