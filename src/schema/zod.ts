/**
 * Zod to JSON Schema (2.5). Zod itself is imported for its types alone: a schema carries its own converter
 * and its own parser, so whoever writes raw JSON Schema never loads Zod, and two versions of it get along.
 */
import type { z } from 'zod';

/** A JSON Schema as an object. Its keywords are checked by the engine when the tool is registered (2.2). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Which side of a Zod schema to describe: what it takes, or what it gives. */
export type SchemaSide = 'input' | 'output';

/**
 * The JSON Schema 2020-12 of a Zod schema. `input` describes what a caller writes, before defaults and
 * transforms, and its root is an object, as arguments are (1.2). `output` describes what comes out of the
 * parser, and may be any value.
 *
 * Throws an Error that names the path where JSON Schema cannot express the schema (2.5).
 */
export function jsonSchemaOf(schema: z.ZodType, side: SchemaSide = 'input'): JsonSchema {
  const converted = convert(schema, side);
  return side === 'input' ? withObjectRoot(converted) : converted;
}

/** The JSON Schema of any value that a Zod schema takes: the result of a task need not be an object (6.12). */
export function valueSchemaOf(schema: z.ZodType): JsonSchema {
  return convert(schema, 'input');
}

function convert(schema: z.ZodType, side: SchemaSide): Record<string, unknown> {
  if (typeof schema.toJSONSchema !== 'function') {
    throw new Error(
      'this schema has no JSON Schema converter: use the `zod` package of version 4, or give `jsonSchema` beside the schema',
    );
  }
  const converted = schema.toJSONSchema({
    io: side,
    target: 'draft-2020-12',
    // The converter makes a text of a file, which the parser then refuses: nobody could call the tool.
    override: ({ zodSchema, path }) => {
      if (zodSchema._zod.def.type !== 'file') return;
      throw new Error(`a file cannot be arguments, at ${pathText(path)}: take a text, its URL or its id say`);
    },
    unrepresentable: ({ path, message }) => {
      throw new Error(`${message}, at ${pathText(path)}: choose a JSON type there, or give \`jsonSchema\``);
    },
  });
  // The converter adds the validator of the Standard Schema interface, which is no part of the JSON.
  return { ...converted };
}

/** A JSON Pointer into the converted schema, or `the root`. */
function pathText(path: readonly (string | number)[]): string {
  return path.length === 0 ? 'the root' : `/${path.join('/')}`;
}

/**
 * Arguments are a JSON object, and providers want to read that at the root. A union of objects, a reference
 * or an unrestricted schema says it with `type` beside its own keywords; another type can never match.
 */
function withObjectRoot(schema: Record<string, unknown>): JsonSchema {
  const { $schema, type, ...rest } = schema;
  if (type === 'object') return schema;
  if (type !== undefined && !(Array.isArray(type) && type.includes('object'))) {
    throw new Error(
      `arguments are a JSON object, and this schema's root is ${JSON.stringify(type)}: wrap it in z.object`,
    );
  }
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = rest[keyword];
    if (Array.isArray(branches) && !branches.some(canBeObject)) {
      throw new Error('arguments are a JSON object, and no branch of this union is one: wrap it in z.object');
    }
  }
  if (!canBeObject(rest)) {
    throw new Error(
      "arguments are a JSON object, and this schema's root is another constant: wrap it in z.object",
    );
  }
  return { ...($schema === undefined ? {} : { $schema }), type: 'object', ...rest };
}

function canBeObject(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return schema !== false;
  const { type, const: constant, enum: values } = schema as JsonSchema;
  if (constant !== undefined) return isObject(constant);
  if (Array.isArray(values)) return values.some(isObject);
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
