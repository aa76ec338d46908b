import { create } from '@bufbuild/protobuf';
import { type SchemaViolation, SchemaViolationSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_POINTER_CHARS, MAX_VIOLATION_NAME_CHARS } from '../core/limits.ts';
import { type PlainObject, type PlainSchema, target } from './plain-schema.ts';

/** Says one thing that is wrong with a value, without a word of the value (1.9, 9.4). */
export function violation(instancePath: string, keyword: string, message: string): SchemaViolation {
  return create(SchemaViolationSchema, {
    instancePath: shortened(instancePath, MAX_POINTER_CHARS),
    keyword,
    message,
  });
}

/** Shortens foreign text to a length that messages can carry, without cutting a character in half. */
export function shortened(text: string, limit = MAX_VIOLATION_NAME_CHARS): string {
  if (text.length <= limit) return text;
  return `${text
    .slice(0, limit - 1)
    .toWellFormed()
    .replace(/\ufffd$/, '')}…`;
}

/** A name in double quotes, with nothing in it that could end a line or forge a message. */
export function quotedName(name: string): string {
  return JSON.stringify(shortened(name));
}

/** Values that a schema allows. They are the author's words, not the caller's. */
export function choices(values: readonly unknown[]): string {
  const words = values.slice(0, 12).map((value) => shortened(JSON.stringify(value) ?? 'null', 40));
  const more = values.length - words.length;
  return `${words.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A number of things, in English. */
export function counted(count: number, thing: string, things = `${thing}s`): string {
  return `${count} ${count === 1 ? thing : things}`;
}

/** A schema as its author could have written it, in short: models know the language, and no paraphrase is as exact. */
export function schemaText(schema: PlainSchema, root: PlainSchema): string {
  const shown = typeof schema === 'object' && schema.$ref !== undefined ? target(root, schema.$ref) : schema;
  if (typeof shown === 'boolean') return String(shown);
  const known = TEXTS.get(shown);
  if (known !== undefined) return known;
  const text = shortened(JSON.stringify(shown));
  TEXTS.set(shown, text);
  return text;
}

/** A large schema would be written out again for each value that breaks it. */
const TEXTS = new WeakMap<PlainObject, string>();
