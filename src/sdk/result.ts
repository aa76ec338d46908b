import { create, isMessage } from '@bufbuild/protobuf';
import { type Content, type ToolResult, ToolResultSchema } from '../../gen/spindle/v1/result_pb.ts';
import { type Block, blockOf } from './block.ts';
import { text } from './content.ts';
import { type JsonValue, jsonText } from './json.ts';
import { isRawJson } from './raw-json.ts';

/** Everything that a result can say. */
export interface ResultFields<Structured = unknown> {
  /** What the model reads: text, one block, or blocks in order. Without it, the JSON of `structured`. */
  readonly content?: string | Block | readonly Block[];
  /** The result as a JSON value. Preferred over `content` where the tool declares an output schema. */
  readonly structured?: Structured;
  /** The tool ran and reports a failure of its own. The output schema is then not checked (3.2). */
  readonly isError?: boolean;
  /** End the turn once this result is recorded (3.5). */
  readonly endsTurn?: boolean;
  /** A short summary for people, in place of the call's activity label (6.13). */
  readonly activity?: string;
  /** For logs and user interfaces. The model never sees it. */
  readonly details?: JsonValue;
  /** For whoever shows the conversation to a person. The model never sees it. */
  readonly presentation?: readonly { readonly eventType: string; readonly payload?: JsonValue }[];
}

// Registered, so that two copies of this package in one process know each other's results.
const RESULT = Symbol.for('spindle.result');

/** A full result, told apart from data that happens to look like one. */
export interface FullResult<Structured = unknown> extends ResultFields<Structured> {
  readonly [RESULT]: true;
}

/**
 * A full result for a handler to return.
 *
 *     return result({ content: 'Sunny, 21 °C', structured: { celsius: 21 }, activity: 'Looked outside' });
 */
export function result<Structured = never>(fields: ResultFields<Structured>): FullResult<Structured> {
  return { ...fields, [RESULT]: true };
}

/** What a handler returned, by what it means (3.1). */
export type Returned =
  | { readonly kind: 'nothing' }
  /** Any JSON value; not yet checked to be one. */
  | { readonly kind: 'value'; readonly value: unknown }
  /** A JSON value as text, sent as it is. */
  | { readonly kind: 'raw'; readonly json: string }
  | { readonly kind: 'fields'; readonly fields: ResultFields }
  | { readonly kind: 'message'; readonly message: ToolResult };

/** The members that make an object with blocks in `content` a result; with any other, it is data. */
const RESULT_MEMBERS: ReadonlySet<string> = new Set([
  'content',
  'structured',
  'structuredContent',
  'isError',
  'endsTurn',
  'activity',
  'details',
  'presentation',
  '_meta',
]);

/**
 * Reads what a handler returned. Blocks, `{content}` with blocks and full results are results; a string and
 * everything else is a JSON value. Throws where both readings are asked for at once.
 */
export function readReturned(value: unknown): Returned {
  if (value === undefined) return { kind: 'nothing' };
  if (isMessage(value, ToolResultSchema)) return { kind: 'message', message: value };
  if (isFullResult(value)) return { kind: 'fields', fields: value };
  if (isRawJson(value)) return { kind: 'raw', json: value.json };
  if (typeof value !== 'object' || value === null) return { kind: 'value', value };
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  // A bare `{text}` is a block within `content` alone; on its own it is as likely to be data.
  if (values.some(isMarkedBlock)) {
    return { kind: 'fields', fields: { content: blocksOf(values, 'the returned value') ?? [] } };
  }
  if (Array.isArray(value)) return { kind: 'value', value };
  return readObject(value as Readonly<Record<string, unknown>>);
}

function isFullResult(value: unknown): value is FullResult {
  return typeof value === 'object' && value !== null && RESULT in value;
}

function readObject(value: Readonly<Record<string, unknown>>): Returned {
  const { content, result: inner } = value;
  if (content !== undefined && inner !== undefined) {
    throw new Error(
      'the handler returned both `content` and `result`: return one of them, or data with these names as result({ structured })',
    );
  }
  if (isMessage(inner, ToolResultSchema) || isFullResult(inner)) return readReturned(inner);
  const known = Object.keys(value).every((key) => RESULT_MEMBERS.has(key));
  if (!known || !Array.isArray(content)) return { kind: 'value', value };
  const blocks = blocksOf(content, '`content`');
  if (blocks === undefined) return { kind: 'value', value };
  const { structuredContent, ...rest } = value;
  const structured = rest['structured'] ?? structuredContent;
  const fields: ResultFields = { ...rest, content: blocks };
  return { kind: 'fields', fields: structured === undefined ? fields : { ...fields, structured } };
}

/** Blocks where all are; undefined where none is; an Error for a mixture, which is neither. */
function blocksOf(values: readonly unknown[], what: string): readonly Content[] | undefined {
  const blocks = values.map(blockOf);
  const missing = blocks.indexOf(undefined);
  if (missing < 0) return blocks.filter((block) => block !== undefined);
  if (blocks.every((block) => block === undefined)) return undefined;
  throw new Error(`${what} mixes content blocks with other values: /${missing} is no block`);
}

/** A block from a builder or in MCP's shape. */
function isMarkedBlock(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return ('$typeName' in value || 'type' in value) && blockOf(value) !== undefined;
}

/** How `toToolResult` treats a plain value. */
export interface ConversionOptions {
  /** The tool has an output schema, so a plain value is `structured_json` as well (3.1). */
  readonly structured?: boolean;
}

/**
 * The ToolResult that a handler's return value becomes (3.1): a string is its own text, another JSON value
 * its JSON, nothing at all one empty text block. Throws an Error that names the path of what is no JSON, or
 * both `content` and `result` where both are given.
 */
export function toToolResult(value: unknown, options: ConversionOptions = {}): ToolResult {
  return resultOf(readReturned(value), options);
}

/** The ToolResult of what `readReturned` found. */
export function resultOf(returned: Returned, options: ConversionOptions = {}): ToolResult {
  switch (returned.kind) {
    case 'nothing':
      return create(ToolResultSchema, { content: [text('')] });
    case 'message':
      return withText(returned.message);
    case 'value':
      return resultOfJson(jsonText(returned.value, 'the returned value'), returned.value, options);
    case 'raw':
      return resultOfJson(returned.json, JSON.parse(returned.json), options);
    case 'fields':
      return withText(messageOf(returned.fields));
  }
}

/** A JSON value as a result: a string becomes its own text, anything else its JSON. */
function resultOfJson(json: string, value: unknown, { structured }: ConversionOptions): ToolResult {
  const content = [text(typeof value === 'string' ? value : json)];
  return create(ToolResultSchema, structured ? { content, structuredJson: json } : { content });
}

function messageOf(fields: ResultFields): ToolResult {
  const message = create(ToolResultSchema, {
    content: contentOf(fields.content),
    isError: fields.isError ?? false,
    endsTurn: fields.endsTurn ?? false,
    activity: fields.activity ?? '',
    detailsJson: fields.details === undefined ? '' : jsonText(fields.details, '`details`'),
    presentation: (fields.presentation ?? []).map(({ eventType, payload }, index) => ({
      eventType,
      payloadJson: payload === undefined ? '' : jsonText(payload, `\`presentation\`/${index}/payload`),
    })),
  });
  if (fields.structured !== undefined) message.structuredJson = jsonText(fields.structured, '`structured`');
  return message;
}

function contentOf(content: ResultFields['content']): Content[] {
  if (content === undefined) return [];
  if (typeof content === 'string') return [text(content)];
  const values: readonly unknown[] = Array.isArray(content) ? content : [content];
  return values.map((value, index) => {
    const block = typeof value === 'string' ? text(value) : blockOf(value);
    if (block === undefined)
      throw new Error(`\`content\`/${index} is no content block: use text(), image() …`);
    return block;
  });
}

/** A model has something to read in every result: the structured value where there is no block, or ''. */
function withText(message: ToolResult): ToolResult {
  if (message.content.length > 0) return message;
  return create(ToolResultSchema, { ...message, content: [text(message.structuredJson ?? '')] });
}
