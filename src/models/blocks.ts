import type { Content, ResourceContent } from '../../gen/spindle/v1/result_pb.ts';
import { excerpt } from '../core/excerpt.ts';
import { MAX_INLINE_TEXT_BYTES, MAX_MEDIA_BYTES, TEXT_EXCERPT_BYTES } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import type { BlobBytes } from './blob-bytes.ts';
import { isText, mediaType } from './media-type.ts';

/** What a model reads of a content block. */
export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'media'; readonly mediaType: string; readonly data: Uint8Array };

/** How a model reads content (3.3, 3.4): media that it takes as media, text as text, anything else by name. */
export function blocksOf(
  content: readonly Content[],
  media: ReadonlySet<string>,
  bytes: BlobBytes,
): readonly Block[] {
  return content.flatMap((block) => blockOf(block, media, bytes));
}

function blockOf({ kind }: Content, media: ReadonlySet<string>, bytes: BlobBytes): readonly Block[] {
  switch (kind.case) {
    case 'text':
      return [{ kind: 'text', text: kind.value.text }];
    case 'image':
    case 'audio':
      return [bytesBlock(kind.value.data, kind.value.mimeType, 'bytes', media)];
    case 'blob':
      return [blobBlock(kind.value, kind.value.uri, media, bytes)];
    case 'resource':
      return [resourceBlock(kind.value, media, bytes)];
    case 'resourceLink': {
      const { uri, name, mimeType } = kind.value;
      return [named([name, uri, mimeType].filter((word) => word !== '').join(', '))];
    }
    case undefined:
      return [];
    default:
      return unreachable(kind);
  }
}

function resourceBlock(resource: ResourceContent, media: ReadonlySet<string>, bytes: BlobBytes): Block {
  const { uri, mimeType, body } = resource;
  switch (body.case) {
    case 'text':
      return { kind: 'text', text: `[${uri}]\n${body.value}` };
    case 'data':
      return bytesBlock(body.value, mimeType, uri, media);
    case 'blob':
      return blobBlock(body.value, uri, media, bytes);
    case undefined:
      return named(uri);
    default:
      return unreachable(body);
  }
}

function blobBlock(
  blob: { readonly uri: string; readonly mimeType: string; readonly sizeBytes: bigint },
  name: string,
  media: ReadonlySet<string>,
  bytes: BlobBytes,
): Block {
  const data = bytes.get(blob.uri);
  if (data === undefined) return named(`${name}, ${blob.mimeType}, ${blob.sizeBytes} bytes, not shown`);
  return bytesBlock(data, blob.mimeType, name, media);
}

function bytesBlock(data: Uint8Array, mimeType: string, name: string, media: ReadonlySet<string>): Block {
  const type = mediaType(mimeType);
  if (media.has(type) && data.byteLength <= MAX_MEDIA_BYTES) return { kind: 'media', mediaType: type, data };
  if (!isText(type)) return named(`${name}, ${mimeType}, ${data.byteLength} bytes, not shown`);
  const text = new TextDecoder().decode(data);
  if (data.byteLength <= MAX_INLINE_TEXT_BYTES) return { kind: 'text', text };
  const cut = `[Cut: this is the beginning of ${data.byteLength} bytes. The whole is ${name}.]`;
  return { kind: 'text', text: `${excerpt(text, TEXT_EXCERPT_BYTES)}\n\n${cut}` };
}

function named(what: string): Block {
  return { kind: 'text', text: `[${what}]` };
}
