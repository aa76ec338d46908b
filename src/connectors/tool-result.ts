import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type CallToolResult,
  CallToolResultSchema,
  type ContentBlock,
} from '@modelcontextprotocol/sdk/types.js';
import { ContentSchema, type ToolResult, ToolResultSchema } from '../../gen/spindle/v1/result_pb.ts';
import { MAX_JSON_DEPTH, MAX_JSON_FIELD_BYTES } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import { readJson } from '../schema/json-text.ts';

export type ReadResult =
  | { readonly kind: 'result'; readonly result: ToolResult }
  /** What the server answered is no result as MCP defines one, or breaks a bound. */
  | { readonly kind: 'unfit'; readonly reason: string };

/** Depth and size alone: a value of the server's own may have any keys. */
const STRUCTURED_LIMITS = {
  maxBytes: MAX_JSON_FIELD_BYTES,
  maxDepth: MAX_JSON_DEPTH,
  maxKeys: MAX_JSON_FIELD_BYTES,
};

/** What a server answered to a call, as one of our results. Its bytes go to the blob store like those of any (3.3). */
export function readToolResult(answer: unknown): ReadResult {
  const parsed = CallToolResultSchema.safeParse(answer);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { kind: 'unfit', reason: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}` };
  }
  const { content, structuredContent, isError = false } = parsed.data;
  const structured = structuredContent === undefined ? undefined : structuredJson(structuredContent);
  if (structured?.kind === 'unfit') return structured;
  return {
    kind: 'result',
    result: create(ToolResultSchema, {
      content: content.map((block) => create(ContentSchema, { kind: blockOf(block) })),
      isError,
      ...(structured === undefined ? {} : { structuredJson: structured.json }),
    }),
  };
}

function structuredJson(
  value: NonNullable<CallToolResult['structuredContent']>,
): { readonly kind: 'json'; readonly json: string } | Extract<ReadResult, { kind: 'unfit' }> {
  const unfit = (reason: string) => ({ kind: 'unfit', reason: `structuredContent: ${reason}` }) as const;
  let json: string;
  try {
    json = JSON.stringify(value);
  } catch {
    // The stack was not deep enough for it, which is far beyond the bound.
    return unfit(`nested deeper than ${MAX_JSON_DEPTH} levels`);
  }
  const reading = readJson(json, STRUCTURED_LIMITS);
  return reading.kind === 'refused' ? unfit(reading.problem) : { kind: 'json', json };
}

type Kind = NonNullable<MessageInitShape<typeof ContentSchema>['kind']>;

function blockOf(block: ContentBlock): Kind {
  switch (block.type) {
    case 'text':
      return { case: 'text', value: { text: block.text.toWellFormed() } };
    case 'image':
    case 'audio':
      return { case: block.type, value: { data: bytesOf(block.data), mimeType: block.mimeType } };
    case 'resource': {
      const { resource } = block;
      const body =
        'text' in resource
          ? ({ case: 'text', value: resource.text.toWellFormed() } as const)
          : ({ case: 'data', value: bytesOf(resource.blob) } as const);
      return { case: 'resource', value: { uri: resource.uri, mimeType: resource.mimeType ?? '', body } };
    }
    case 'resource_link':
      return {
        case: 'resourceLink',
        value: { uri: block.uri, name: block.title ?? block.name, mimeType: block.mimeType ?? '' },
      };
    default:
      return unreachable(block);
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(base64, 'base64'));
}
