import { create, toBinary } from '@bufbuild/protobuf';
import {
  type BlobReference,
  BlobReferenceSchema,
  type Content,
  ContentSchema,
  type ToolResult,
  ToolResultSchema,
} from '../../gen/spindle/v1/result_pb.ts';
import { BLOB_URI_PREFIX } from '../core/blob-uri.ts';
import {
  MAX_CONTENT_BLOCKS,
  MAX_INLINE_TEXT_BYTES,
  MAX_JSON_FIELD_BYTES,
  MAX_RESULT_BYTES,
} from '../core/limits.ts';
import type { Blobs } from './ports.ts';

/** What keeps a result out of the record, in words for the worker's author; undefined where nothing does (3.4). */
export function resultFault(result: ToolResult): string | undefined {
  if (result.content.length > MAX_CONTENT_BLOCKS) {
    return `content has ${result.content.length} blocks, and may have ${MAX_CONTENT_BLOCKS}`;
  }
  const empty = result.content.findIndex(({ kind }) => kind.case === undefined);
  if (empty >= 0) return `content[${empty}] has no kind, or one that this engine does not know`;
  return (
    (result.structuredJson === '' ? 'structured_json is empty; leave it unset instead' : undefined) ??
    jsonFieldFault('structured_json', result.structuredJson ?? '') ??
    jsonFieldFault('details_json', result.detailsJson) ??
    result.presentation
      .map(({ payloadJson }, index) => jsonFieldFault(`presentation[${index}].payload_json`, payloadJson))
      .find((fault) => fault !== undefined)
  );
}

/** What is wrong with a field that holds JSON text, or is empty. */
export function jsonFieldFault(field: string, json: string): string | undefined {
  if (json === '') return undefined;
  // A code unit is at least a byte, so the length alone settles most texts.
  if (json.length > MAX_JSON_FIELD_BYTES || Buffer.byteLength(json) > MAX_JSON_FIELD_BYTES) {
    return `${field} is longer than ${MAX_JSON_FIELD_BYTES} bytes; put the data behind a resource link`;
  }
  try {
    JSON.parse(json);
    return undefined;
  } catch {
    return `${field} is no JSON text`;
  }
}

/** Whether a result holds bytes, or text so long that it is kept as bytes (3.3, 3.4). */
export function needsBlobs({ content }: Pick<ToolResult, 'content'>): boolean {
  return content.some(({ kind }) => {
    switch (kind.case) {
      case 'image':
      case 'audio':
        return true;
      case 'text':
        return isLong(kind.value.text);
      case 'resource':
        return (
          kind.value.body.case === 'data' ||
          (kind.value.body.case === 'text' && isLong(kind.value.body.value))
        );
      default:
        return false;
    }
  });
}

function isLong(text: string): boolean {
  // Three bytes of UTF-8 for each code unit at most: a short text need not be measured.
  return text.length * 3 > MAX_INLINE_TEXT_BYTES && Buffer.byteLength(text) > MAX_INLINE_TEXT_BYTES;
}

/** The result with references in place of bytes. The bytes are durable when this resolves. */
export async function storeBytes(result: ToolResult, tenant: string, blobs: Blobs): Promise<ToolResult> {
  const content = await Promise.all(result.content.map((block) => storeBlock(block, tenant, blobs)));
  return create(ToolResultSchema, { ...result, content });
}

export async function storeBlock(block: Content, tenant: string, blobs: Blobs): Promise<Content> {
  const store = async (data: Uint8Array, mimeType: string): Promise<BlobReference> =>
    create(BlobReferenceSchema, {
      uri: BLOB_URI_PREFIX + (await blobs.put(tenant, data)),
      mimeType,
      sizeBytes: BigInt(data.byteLength),
    });
  const { kind } = block;
  switch (kind.case) {
    case 'image':
    case 'audio': {
      const value = await store(kind.value.data, kind.value.mimeType);
      return create(ContentSchema, { kind: { case: 'blob', value } });
    }
    case 'text': {
      if (!isLong(kind.value.text)) return block;
      const value = await store(Buffer.from(kind.value.text), kind.value.mimeType || 'text/plain');
      return create(ContentSchema, { kind: { case: 'blob', value } });
    }
    case 'resource': {
      const { uri, mimeType, body } = kind.value;
      const bytes = body.case === 'data' ? body.value : undefined;
      const text = body.case === 'text' && isLong(body.value) ? Buffer.from(body.value) : undefined;
      const data = bytes ?? text;
      if (data === undefined) return block;
      const blob = await store(data, mimeType);
      return create(ContentSchema, {
        kind: { case: 'resource', value: { uri, mimeType, body: { case: 'blob', value: blob } } },
      });
    }
    default:
      return block;
  }
}

/** Whether a result without bytes is larger than a reader takes. The common one is not measured. */
export function isTooLarge(result: ToolResult): boolean {
  let units = result.activity.length + result.detailsJson.length + (result.structuredJson?.length ?? 0);
  for (const { eventType, payloadJson } of result.presentation)
    units += eventType.length + payloadJson.length;
  for (const { kind } of result.content) {
    if (kind.case !== 'text') return isOver(result);
    units += kind.value.text.length + kind.value.mimeType.length;
  }
  // Three bytes of UTF-8 for each code unit at most.
  return units * 3 > MAX_RESULT_BYTES && isOver(result);
}

function isOver(result: ToolResult): boolean {
  return toBinary(ToolResultSchema, result).byteLength > MAX_RESULT_BYTES;
}
