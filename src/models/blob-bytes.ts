import type { ChatMessage } from '../../gen/spindle/v1/message_pb.ts';
import type { BlobReference, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import { digestOfUri } from '../core/blob-uri.ts';
import { MAX_MEDIA_BYTES, MAX_REQUEST_MEDIA_BYTES } from '../core/limits.ts';
import type { Blobs } from '../engine/ports.ts';
import { isText, mediaType } from './media-type.ts';

/** Bytes of the blobs of one request, by uri. What is absent is only named to the model. */
export type BlobBytes = ReadonlyMap<string, Uint8Array>;

/**
 * Reads what a request shows to its model: texts, and the media that it reads, the newest first, as far as a provider
 * takes them. Rejects as Blobs.read does.
 */
export async function readBlobs(
  messages: readonly ChatMessage[],
  media: ReadonlySet<string>,
  tenant: string,
  blobs: Pick<Blobs, 'read'>,
): Promise<BlobBytes> {
  const bytes = new Map<string, Uint8Array>();
  let left = MAX_REQUEST_MEDIA_BYTES;
  for (const reference of messages.flatMap(referencesOf).toReversed()) {
    const { uri, sizeBytes } = reference;
    const type = mediaType(reference.mimeType);
    const digest = digestOfUri(uri);
    if (digest === undefined || bytes.has(uri) || !(media.has(type) || isText(type))) continue;
    // Of a text only the beginning is shown, so it costs nothing however long it is.
    const size = isText(type) ? 0 : Number(sizeBytes);
    if (size > MAX_MEDIA_BYTES || size > left) continue;
    const chunks = await blobs.read(tenant, digest);
    if (chunks === undefined) continue;
    bytes.set(uri, await joined(chunks));
    left -= size;
  }
  return bytes;
}

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

function referencesOf({ parts }: ChatMessage): readonly BlobReference[] {
  return parts.flatMap(({ kind }) => {
    if (kind.case === 'content') return referenceIn(kind.value);
    if (kind.case !== 'toolResult' || kind.value.outcome.case !== 'result') return [];
    return kind.value.outcome.value.content.flatMap(referenceIn);
  });
}

function referenceIn({ kind }: ToolResult['content'][number]): readonly BlobReference[] {
  if (kind.case === 'blob') return [kind.value];
  return kind.case === 'resource' && kind.value.body.case === 'blob' ? [kind.value.body.value] : [];
}
