import { createHash } from 'node:crypto';
import type { Content } from '../../../gen/spindle/v1/result_pb.ts';
import type { Tool } from '../../../gen/spindle/v1/tool_pb.ts';
import { MAX_INLINE_TEXT_BYTES } from '../../core/limits.ts';
import type { Client } from '../client/client.ts';
import type { RetryOptions } from '../tool-options.ts';

export interface CatalogToolsOptions {
  /** Globs over names; every tool on offer where they are not given. */
  readonly names?: readonly string[];
  /** A policy for each call. */
  readonly retry?: RetryOptions;
}

/** A tool of the catalog, as a library around a model takes it. */
export interface CatalogTool {
  /** A name that every provider takes: the tool's own, or one that stands for it. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Calls it, and cancels the call where the signal is aborted. Throws a CallFailedError where it fails. */
  call(args: unknown, signal?: AbortSignal): Promise<CallOutput>;
}

export type OutputPart =
  | { readonly type: 'text'; readonly text: string }
  /** `data` is base64. */
  | { readonly type: 'media'; readonly data: string; readonly mediaType: string };

/** The structured value where there is one; else what the tool said. */
export type CallOutput =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'parts'; readonly parts: readonly OutputPart[] };

/** A call that failed: its message is what a model reads. */
export class CallFailedError extends Error {
  override readonly name = 'CallFailedError';
  /** One of the codes of docs/errors.md, or the tool's own. */
  readonly code: string;
  readonly callId: string;

  constructor(message: string, code: string, callId: string) {
    super(message);
    this.code = code;
    this.callId = callId;
  }

  /** Libraries show a model an error in this form, and the name of a class tells it nothing. */
  override toString(): string {
    return this.message;
  }
}

/** The tools that an engine offers at the moment. */
export async function catalogTools(
  client: Client,
  { names = [], retry }: CatalogToolsOptions,
): Promise<readonly CatalogTool[]> {
  const served = await client.tools(names);
  return served.flatMap(({ tool }) => (tool === undefined ? [] : [catalogTool(client, tool, retry)]));
}

function catalogTool(client: Client, tool: Tool, retry: RetryOptions | undefined): CatalogTool {
  return {
    name: providerName(tool.name),
    description: tool.description,
    inputSchema: { type: 'object', properties: {}, ...schemaOf(tool.inputSchemaJson) },
    async call(args, signal) {
      const end = await client.call(
        tool.name,
        { rawArguments: JSON.stringify(args ?? {}) },
        {
          ...(retry === undefined ? {} : { retry }),
          ...(signal === undefined ? {} : { signal, onAbort: 'cancel' }),
        },
      );
      if (!end.ok) throw new CallFailedError(end.error.message, end.error.code, end.callId);
      if (end.value !== undefined) return { kind: 'value', value: end.value };
      const parts = await Promise.all(end.result.content.map((block) => partOf(client, block)));
      const texts = parts.flatMap((part) => (part.type === 'text' ? part.text : []));
      return texts.length === parts.length
        ? { kind: 'text', text: texts.join('\n') }
        : { kind: 'parts', parts };
    },
  };
}

/** The engine has checked that it is JSON (2.2). */
function schemaOf(json: string): object {
  const schema: unknown = json.trim() === '' ? {} : JSON.parse(json);
  return typeof schema === 'object' && schema !== null ? schema : {};
}

const MAX_PROVIDER_NAME_CHARS = 64;

/** Providers take letters, digits, _ and -, up to 64: another name is replaced, with a hash that keeps it apart (6.6). */
function providerName(name: string): string {
  if (/^[\w-]+$/.test(name) && name.length <= MAX_PROVIDER_NAME_CHARS) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replace(/[^\w-]/g, '_').slice(0, MAX_PROVIDER_NAME_CHARS - hash.length - 1)}_${hash}`;
}

async function partOf(client: Client, { kind }: Content): Promise<OutputPart> {
  switch (kind.case) {
    case 'text':
      return { type: 'text', text: kind.value.text };
    case 'blob': {
      const { uri, mimeType, sizeBytes } = kind.value;
      const isMedia = /^(image|audio)\//.test(mimeType);
      if (!isMedia && !mimeType.startsWith('text/'))
        return { type: 'text', text: `${uri} (${mimeType}, ${sizeBytes} bytes)` };
      const bytes: Uint8Array[] = [];
      for await (const chunk of client.readBlob(uri)) bytes.push(chunk);
      const data = Buffer.concat(bytes);
      if (isMedia) return { type: 'media', data: data.toString('base64'), mediaType: mimeType };
      return { type: 'text', text: data.subarray(0, MAX_INLINE_TEXT_BYTES).toString() };
    }
    case 'resource': {
      const { uri, mimeType, body } = kind.value;
      return { type: 'text', text: body.case === 'text' ? body.value : `${uri} (${mimeType})` };
    }
    case 'resourceLink':
      return { type: 'text', text: `${kind.value.name} ${kind.value.uri}`.trim() };
    case 'image':
    case 'audio':
      return {
        type: 'media',
        data: Buffer.from(kind.value.data).toString('base64'),
        mediaType: kind.value.mimeType,
      };
    case undefined:
      return { type: 'text', text: '' };
  }
}
