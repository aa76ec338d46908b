import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/sdk/types.js';
import type { BlobReference, Content, Failure, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import type { CallToolResponse } from '../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_GATEWAY_INLINE_BYTES, TEXT_EXCERPT_BYTES } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import type { ToolSource } from './tool-source.ts';

/** The prefix of what a result says beside MCP's own members, in `_meta`. */
const META = 'dev.spindle/';

export interface ResultOptions {
  readonly readBlob: ToolSource['readBlob'];
  /** The client was told of an output schema, and expects a structured result. */
  readonly wantsStructured: boolean;
}

/** How a call ended, as an MCP client reads it: a failure is a result as well, for the model to read (6.7). */
export async function resultMessage(
  { callId, attempts, outcome }: CallToolResponse,
  options: ResultOptions,
): Promise<CallToolResult> {
  const meta = { [`${META}call_id`]: callId, [`${META}attempts`]: attempts };
  switch (outcome.case) {
    case 'result':
      return { ...(await toolResult(outcome.value, options)), _meta: meta };
    case 'error':
      return failureResult(outcome.value, meta);
    case undefined:
      throw new Error('a call ended without an outcome, which breaks the contract');
    default:
      return unreachable(outcome);
  }
}

function failureResult(
  { code, message, retryable, mayHaveTakenEffect }: Failure,
  meta: Readonly<Record<string, unknown>>,
): CallToolResult {
  const failure = {
    [`${META}code`]: code,
    [`${META}retryable`]: retryable,
    [`${META}may_have_taken_effect`]: mayHaveTakenEffect,
  };
  return { isError: true, content: [{ type: 'text', text: message }], _meta: { ...meta, ...failure } };
}

async function toolResult(
  { content, structuredJson, isError }: ToolResult,
  { readBlob, wantsStructured }: ResultOptions,
): Promise<CallToolResult> {
  const blocks = (await Promise.all(content.map((block) => blocksOf(block, readBlob)))).flat();
  const json = structuredJson ?? (wantsStructured && !isError ? onlyText(content) : undefined);
  const structured = json === undefined ? undefined : objectOf(json);
  // A client that knows no structured results reads the same value as text, as MCP asks.
  const text = blocks.length > 0 || structuredJson === undefined ? [] : [textBlock(structuredJson)];
  return {
    content: [...blocks, ...text],
    ...(structured === undefined ? {} : { structuredContent: structured }),
    ...(isError ? { isError } : {}),
  };
}

function onlyText(content: readonly Content[]): string | undefined {
  const [only, ...others] = content;
  return only?.kind.case === 'text' && others.length === 0 ? only.kind.value.text : undefined;
}

/** The engine has checked that a structured value is JSON (3.4); of a text nobody has. */
function objectOf(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

async function blocksOf({ kind }: Content, readBlob: ToolSource['readBlob']): Promise<ContentBlock[]> {
  switch (kind.case) {
    case 'text':
      return [textBlock(kind.value.text)];
    case 'image':
    case 'audio':
      return [{ type: kind.case, data: base64(kind.value.data), mimeType: kind.value.mimeType }];
    case 'resource': {
      const { uri, mimeType, body } = kind.value;
      const named = { uri, ...(mimeType === '' ? {} : { mimeType }) };
      if (body.case === 'text') return [{ type: 'resource', resource: { ...named, text: body.value } }];
      if (body.case === 'data')
        return [{ type: 'resource', resource: { ...named, blob: base64(body.value) } }];
      if (body.case === undefined) return [{ type: 'resource_link', ...named, name: uri }];
      const bytes = await inlineBytes(body.value, readBlob);
      if (bytes === undefined) return [linkTo(body.value, uri)];
      return [{ type: 'resource', resource: { ...named, blob: base64(bytes) } }];
    }
    case 'resourceLink': {
      const { uri, name, mimeType } = kind.value;
      return [{ type: 'resource_link', uri, name: name || uri, ...(mimeType === '' ? {} : { mimeType }) }];
    }
    case 'blob':
      return blobBlocks(kind.value, readBlob);
    case undefined:
      return [];
    default:
      return unreachable(kind);
  }
}

/** Stored bytes: a picture or a sound as such, a long text by its beginning, and what is too large by a link (3.3, 3.4). */
async function blobBlocks(
  reference: BlobReference,
  readBlob: ToolSource['readBlob'],
): Promise<ContentBlock[]> {
  const { mimeType, sizeBytes } = reference;
  const [family = ''] = mimeType.split('/');
  if (family === 'text') {
    const text = await excerpt(reference, readBlob);
    const cut = `(The text has ${sizeBytes} bytes, of which these are the first. The resource ${reference.uri} is the whole.)`;
    return text === undefined ? [linkTo(reference)] : [textBlock(`${text}\n${cut}`), linkTo(reference)];
  }
  const bytes = await inlineBytes(reference, readBlob);
  if (bytes === undefined) return [linkTo(reference)];
  if (family === 'image' || family === 'audio') return [{ type: family, data: base64(bytes), mimeType }];
  return [{ type: 'resource', resource: { uri: reference.uri, mimeType, blob: base64(bytes) } }];
}

function linkTo({ uri, mimeType, sizeBytes }: BlobReference, name = uri): ContentBlock {
  return {
    type: 'resource_link',
    uri,
    name,
    size: Number(sizeBytes),
    ...(mimeType === '' ? {} : { mimeType }),
  };
}

async function inlineBytes(
  { uri, sizeBytes }: BlobReference,
  readBlob: ToolSource['readBlob'],
): Promise<Uint8Array | undefined> {
  if (sizeBytes > BigInt(MAX_GATEWAY_INLINE_BYTES)) return undefined;
  const chunks = await readBlob(uri);
  if (!chunks.ok) return undefined;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks.value) parts.push(chunk);
  return Buffer.concat(parts);
}

/** The beginning of a long text, cut where a character ends. */
async function excerpt(
  { uri }: BlobReference,
  readBlob: ToolSource['readBlob'],
): Promise<string | undefined> {
  const chunks = await readBlob(uri);
  if (!chunks.ok) return undefined;
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks.value) {
    parts.push(chunk);
    size += chunk.byteLength;
    if (size >= TEXT_EXCERPT_BYTES) break;
  }
  const bytes = Buffer.concat(parts).subarray(0, TEXT_EXCERPT_BYTES);
  // In streaming mode the decoder keeps back what is no whole character yet.
  return new TextDecoder().decode(bytes, { stream: true });
}

function textBlock(text: string): ContentBlock {
  return { type: 'text', text };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
