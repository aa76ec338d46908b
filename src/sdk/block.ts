import { isMessage } from '@bufbuild/protobuf';
import { type Content, ContentSchema } from '../../gen/spindle/v1/result_pb.ts';
import { audio, image, resource, resourceLink, text } from './content.ts';

/** A block in MCP's JSON shape, as a handler that served MCP before returns it. Bytes are base64. */
export type McpBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource';
      readonly resource: {
        readonly uri: string;
        readonly mimeType?: string;
        readonly text?: string;
        readonly blob?: string;
      };
    }
  | {
      readonly type: 'resource_link';
      readonly uri: string;
      readonly name?: string;
      readonly mimeType?: string;
    };

/** A block as a handler writes it: from a builder, in MCP's shape, or `{text}` alone. */
export type Block = Content | McpBlock | { readonly text: string };

export function isContent(value: unknown): value is Content {
  return isMessage(value, ContentSchema);
}

/**
 * The block that a value stands for, or undefined where it is none. Members that MCP defines and a result
 * has no place for (annotations, _meta) are left out.
 */
export function blockOf(value: unknown): Content | undefined {
  if (isContent(value)) return value.kind.case === undefined ? undefined : value;
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  if (fields['type'] === undefined) {
    const only = Object.keys(fields).length === 1;
    return only && typeof fields['text'] === 'string' ? text(fields['text']) : undefined;
  }
  return Object.keys(fields).every((key) => MCP_MEMBERS.has(key)) ? mcpBlock(fields) : undefined;
}

/** With any other member an object is data that has a `type` of its own, and nothing of it may get lost. */
const MCP_MEMBERS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'data',
  'mimeType',
  'resource',
  'uri',
  'name',
  'title',
  'description',
  'size',
  'icons',
  'annotations',
  '_meta',
]);

function mcpBlock(fields: Readonly<Record<string, unknown>>): Content | undefined {
  const { type, text: words, data, uri, name, mimeType, resource: carried } = fields;
  switch (type) {
    case 'text':
      return typeof words === 'string' ? text(words) : undefined;
    case 'image':
    case 'audio': {
      if (typeof data !== 'string' || typeof mimeType !== 'string') return undefined;
      return (type === 'image' ? image : audio)(Buffer.from(data, 'base64'), mimeType);
    }
    case 'resource':
      return typeof carried === 'object' && carried !== null ? carriedResource({ ...carried }) : undefined;
    case 'resource_link':
      return typeof uri === 'string'
        ? resourceLink(uri, { name: textOr(name, ''), mimeType: textOr(mimeType, '') })
        : undefined;
    default:
      return undefined;
  }
}

function carriedResource(fields: Readonly<Record<string, unknown>>): Content | undefined {
  const { uri, mimeType, text: words, blob } = fields;
  if (typeof uri !== 'string') return undefined;
  if (typeof words === 'string') return resource(uri, words, textOr(mimeType, ''));
  if (typeof blob === 'string') return resource(uri, Buffer.from(blob, 'base64'), textOr(mimeType, ''));
  return undefined;
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' ? value : fallback;
}
