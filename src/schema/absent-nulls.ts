import { isJsonObject, ownValue } from './json-value.ts';
import { inPlace, type PlainObject, type PlainSchema } from './plain-schema.ts';

/**
 * The text of an object without the nulls that stand for what is absent: of properties that are optional and that
 * nothing in the schema lets be null (2.6). Undefined where there are none. Numbers keep their spelling.
 *
 * @param text JSON of an object, by the strict reader.
 */
export function withoutAbsentNulls(root: PlainSchema, text: string): string | undefined {
  if (!text.includes('null')) return undefined;
  let dropped = false;
  const walk = (value: unknown, schemas: readonly PlainSchema[]): unknown => {
    const all = together(schemas, root);
    if (Array.isArray(value)) {
      return value.map((item, index) =>
        walk(
          item,
          all.flatMap((schema) => itemSchemas(schema, index)),
        ),
      );
    }
    if (!isJsonObject(value) || exactJson.isRawJSON(value)) return value;
    const entries = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
      const declared = all.flatMap((schema) => ownValue(schema.properties ?? {}, name) ?? []);
      if (member === null && standsForAbsent(name, declared, all, root)) {
        dropped = true;
        return [];
      }
      return [[name, walk(member, declared)]];
    });
    return Object.fromEntries(entries);
  };
  const walked = walk(exactly(text), [root]);
  return dropped ? JSON.stringify(walked) : undefined;
}

function standsForAbsent(
  name: string,
  declared: readonly PlainSchema[],
  all: readonly PlainObject[],
  root: PlainSchema,
): boolean {
  if (declared.length === 0 || all.some(({ required }) => required?.includes(name))) return false;
  return !declared.some((schema) => mayBeNull(schema, root, new Set()));
}

/** Every schema that speaks of the same value, references followed. A negation says nothing of what may be there. */
function together(schemas: readonly PlainSchema[], root: PlainSchema): readonly PlainObject[] {
  const found = new Set<PlainObject>();
  const add = (schema: PlainSchema): void => {
    if (typeof schema === 'boolean' || found.has(schema)) return;
    found.add(schema);
    const { not: _, ...rest } = schema;
    for (const inner of inPlace(rest, root)) add(inner);
  };
  for (const schema of schemas) add(schema);
  return [...found];
}

function itemSchemas({ prefixItems, items }: PlainObject, index: number): readonly PlainSchema[] {
  const placed = prefixItems?.[index];
  if (placed !== undefined) return [placed];
  return items === undefined ? [] : [items];
}

/** Whether nothing says that the value is not null. */
function mayBeNull(schema: PlainSchema, root: PlainSchema, open: Set<PlainSchema>): boolean {
  if (typeof schema === 'boolean') return schema;
  if (open.has(schema)) return true;
  open.add(schema);
  const may = (inner: PlainSchema): boolean => mayBeNull(inner, root, open);
  const { type, enum: values, allOf, anyOf, oneOf, $ref } = schema;
  const referred = $ref === undefined ? [] : inPlace({ $ref }, root);
  const verdict =
    (type?.includes('null') ?? true) &&
    (values?.includes(null) ?? true) &&
    (!('const' in schema) || schema.const === null) &&
    referred.every(may) &&
    (allOf?.every(may) ?? true) &&
    (anyOf?.some(may) ?? true) &&
    (oneOf?.some(may) ?? true);
  open.delete(schema);
  return verdict;
}

/** What ECMAScript 2026 has and the compiler's libraries do not know yet. */
interface ExactJson {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(source: string): unknown;
  isRawJSON(value: unknown): boolean;
}

const exactJson = JSON as unknown as ExactJson;

/** Numbers as they were written, since a reader would round the long ones. */
function exactly(text: string): unknown {
  return exactJson.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exactJson.rawJSON(source) : value,
  );
}
