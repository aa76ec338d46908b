import { MAX_SCHEMA_PATTERNS } from '../core/limits.ts';
import { type Dialect, type Holds, holdsOf, REFUSED_KEYWORDS } from './dialect.ts';
import { ENFORCED_FORMATS } from './formats.ts';
import { isJsonObject, type JsonObject, ownValue } from './json-value.ts';
import { compilePattern, type Pattern } from './pattern.ts';
import type { SchemaFault } from './plain.ts';
import type { PlainObject, PlainSchema } from './plain-schema.ts';
import type { Place, References } from './references.ts';

/** What making a schema plain gathers over the whole document. */
export interface Work {
  readonly dialect: Dialect;
  readonly references: References;
  readonly patterns: Map<string, Pattern>;
  readonly unenforced: Set<string>;
  readonly remarks: Set<string>;
  /** Keywords that the dialect does not have. */
  readonly annotations: Set<string>;
  readonly origin: WeakMap<PlainObject, string>;
  /** The names of what is referred to, by the identity of the schema. */
  readonly names: Map<unknown, string>;
  readonly queue: { readonly name: string; readonly place: Place }[];
  /** The first fault; what is made after it is thrown away. */
  fault?: SchemaFault;
}

/** One schema in the making. */
interface Node {
  readonly work: Work;
  readonly place: Place;
  readonly schema: JsonObject;
  readonly plain: Record<string, unknown>;
  /** What has to hold beside the keywords of `plain`. */
  readonly also: PlainSchema[];
}

/** `__proto__` as a key of a table in generated code would be lost; as a pattern it is a name like others. */
const PROTO = '__proto__';
const PROTO_PATTERN = '^__proto__$';
const REMOTE = 'leads out of this schema, and nothing is fetched: put what it names under "$defs"';

export function plainPlace(place: Place, work: Work): PlainSchema {
  const { schema, pointer } = place;
  if (!isJsonObject(schema)) return schema !== false;
  const node: Node = { work, place, schema, plain: {}, also: [] };
  // A reference of draft-07 hides what stands beside it.
  const hidden = work.dialect === 'draft-07' && typeof ownValue(schema, '$ref') === 'string';
  for (const [keyword, value] of Object.entries(schema)) {
    const holds = holdsOf(work.dialect, keyword);
    if (REFUSED_KEYWORDS.has(keyword)) {
      fault(node, keyword, 'is a custom keyword: remove it, or say the same with standard ones');
    } else if (holds === undefined) {
      if (!keyword.startsWith('x-')) work.annotations.add(keyword);
    } else if (hidden && keyword !== '$ref') {
      if (!['annotation', 'reference'].includes(holds) && keyword !== 'definitions') {
        remark(node, `draft-07 ignores "${keyword}" beside "$ref"`);
      }
    } else {
      plainKeyword(node, keyword, holds, value);
    }
  }
  if (node.also.length > 0) node.plain['allOf'] = [...asArray(node.plain['allOf']), ...node.also];
  // The meta-schema has vouched for the values, and the table of keywords for the names.
  const plain = node.plain as PlainObject;
  work.origin.set(plain, pointer);
  return plain;
}

function plainKeyword(node: Node, keyword: string, holds: Holds, value: unknown): void {
  const { plain, place } = node;
  switch (keyword) {
    case '$ref':
    case '$dynamicRef':
      plainReference(node, keyword, String(value));
      break;
    case '$schema':
      if (place.pointer !== '')
        remark(node, '"$schema" is ignored; the dialect of the root holds throughout');
      break;
    case '$defs':
    case 'definitions':
      // References fetch from these what they need.
      break;
    case 'type':
      plain[keyword] = asArray(value);
      break;
    case 'format':
      if (ENFORCED_FORMATS.has(String(value))) plain[keyword] = value;
      else remark(node, `the format ${quoted(value)} only annotates`);
      break;
    case 'pattern':
      if (enforces(node, keyword, String(value))) plain[keyword] = value;
      break;
    case 'properties':
      plainProperties(node, value);
      break;
    case 'patternProperties':
      plainPatternProperties(node, value);
      break;
    case 'additionalProperties':
    case 'unevaluatedProperties':
      // With a pattern that cannot run, nobody can say which properties are additional.
      if (!hasUnenforced(node)) plain[keyword] = inside(node, [keyword], value);
      break;
    case 'items':
      if (Array.isArray(value)) plain['prefixItems'] = insideEach(node, keyword, value);
      else plain[keyword] = inside(node, [keyword], value);
      break;
    case 'additionalItems':
      // It counts only beside a list of items; 2020-12 calls it `items`.
      if (Array.isArray(ownValue(node.schema, 'items'))) plain['items'] = inside(node, [keyword], value);
      break;
    case 'dependencies':
    case 'dependentRequired':
    case 'dependentSchemas':
      plainDependencies(node, keyword, value);
      break;
    default:
      if (holds === 'schema') plain[keyword] = inside(node, [keyword], value);
      else if (holds === 'schemas') plain[keyword] = insideEach(node, keyword, asArray(value));
      else if (holds === 'assertion') plain[keyword] = value;
  }
}

function plainReference(node: Node, keyword: string, reference: string): void {
  const { work, place } = node;
  const found = work.references.resolve(reference, place.base);
  const anchor = reference.slice(reference.indexOf('#') + 1);
  if (found.kind !== 'found') {
    fault(
      node,
      keyword,
      found.kind === 'remote' ? REMOTE : 'leads to nothing in this schema: correct its path',
    );
    return;
  }
  if (keyword === '$dynamicRef' && work.references.dynamicAnchors(anchor) > 1) {
    fault(node, keyword, 'has several anchors to choose from, which is not supported: use "$ref"');
    return;
  }
  const $ref = nameOf(found.place, work);
  if (keyword === '$ref') node.plain[keyword] = $ref;
  else node.also.push({ $ref });
}

function nameOf(place: Place, work: Work): string {
  if (place.schema === work.references.root.schema && typeof place.schema === 'object') return '#';
  // Booleans have no identity; each place of one gets its own name.
  const key = typeof place.schema === 'object' ? place.schema : place.pointer;
  const known = work.names.get(key);
  if (known !== undefined) return `#/$defs/${known}`;
  const name = `r${work.names.size}`;
  work.names.set(key, name);
  work.queue.push({ name, place });
  return `#/$defs/${name}`;
}

function plainProperties(node: Node, value: unknown): void {
  const properties: Record<string, PlainSchema> = {};
  for (const [name, inner] of Object.entries(asObject(value))) {
    const schema = inside(node, ['properties', name], inner);
    if (name === PROTO) addPattern(node, PROTO_PATTERN, schema);
    else properties[name] = schema;
  }
  node.plain['properties'] = properties;
}

function plainPatternProperties(node: Node, value: unknown): void {
  for (const [source, inner] of Object.entries(asObject(value))) {
    const schema = inside(node, ['patternProperties', source], inner);
    const pattern = source === PROTO ? `(?:${PROTO})` : source;
    if (enforces(node, 'patternProperties', pattern)) addPattern(node, pattern, schema);
  }
}

function addPattern(node: Node, source: string, schema: PlainSchema): void {
  enforces(node, 'patternProperties', source);
  const others = asObject(node.plain['patternProperties']);
  node.plain['patternProperties'] = { ...others, [source]: schema };
}

function hasUnenforced(node: Node): boolean {
  const sources = Object.keys(asObject(ownValue(node.schema, 'patternProperties')));
  return sources.some((source) => !enforces(node, 'patternProperties', source));
}

function plainDependencies(node: Node, keyword: string, value: unknown): void {
  const required: Record<string, readonly string[]> = {};
  for (const [name, inner] of Object.entries(asObject(value))) {
    if (Array.isArray(inner) && name !== PROTO) {
      required[name] = inner.map(String);
    } else {
      const schema = Array.isArray(inner)
        ? { required: inner.map(String) }
        : inside(node, [keyword, name], inner);
      // biome-ignore lint/suspicious/noThenProperty: the keyword is called so, and nothing awaits a schema.
      node.also.push({ if: { type: ['object'], required: [name] }, then: schema });
    }
  }
  const others = asObject(node.plain['dependentRequired']);
  if (Object.keys(required).length > 0) node.plain['dependentRequired'] = { ...others, ...required };
}

/** Whether a pattern can be enforced; where not, that is a fault or a remark (2.3). */
function enforces(node: Node, keyword: string, source: string): boolean {
  if (node.work.patterns.has(source)) return true;
  if (node.work.unenforced.has(source) || node.work.patterns.size > MAX_SCHEMA_PATTERNS) return false;
  const reading = compilePattern(source);
  switch (reading.kind) {
    case 'pattern':
      node.work.patterns.set(source, reading.pattern);
      return true;
    case 'invalid':
      fault(node, keyword, 'holds no valid regular expression: correct it');
      return false;
    case 'unenforced':
      node.work.unenforced.add(source);
      remark(node, `a regular expression of "${keyword}" is not enforced: ${reading.reason}`);
      return false;
  }
}

function inside(node: Node, steps: readonly (string | number)[], value: unknown): PlainSchema {
  return plainPlace(node.work.references.inside(node.place, steps, value), node.work);
}

function insideEach(node: Node, keyword: string, values: readonly unknown[]): PlainSchema[] {
  return values.map((value, index) => inside(node, [keyword, index], value));
}

function fault({ work, place }: Node, keyword: string, problem: string): void {
  work.fault ??= { pointer: place.pointer, keyword, problem };
}

function remark({ work, place }: Node, what: string): void {
  work.remarks.add(`at ${place.pointer === '' ? 'the root' : place.pointer.slice(0, 200)}: ${what}`);
}

function quoted(value: unknown): string {
  return JSON.stringify(String(value).slice(0, 64));
}

function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
