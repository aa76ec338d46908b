import { create } from '@bufbuild/protobuf';
import { type Content, ContentSchema } from '../../gen/spindle/v1/result_pb.ts';

/** A text block. `mimeType` is text/plain where it is not given. */
export function text(value: string, options: { readonly mimeType?: string } = {}): Content {
  return create(ContentSchema, {
    kind: { case: 'text', value: { text: value, mimeType: options.mimeType ?? '' } },
  });
}

/** A picture: its bytes, not base64, and its IANA media type, image/png say. */
export function image(data: Uint8Array, mimeType: string): Content {
  return create(ContentSchema, { kind: { case: 'image', value: { data: bytesOf(data), mimeType } } });
}

/** A sound: its bytes, not base64, and its IANA media type, audio/wav say. */
export function audio(data: Uint8Array, mimeType: string): Content {
  return create(ContentSchema, { kind: { case: 'audio', value: { data: bytesOf(data), mimeType } } });
}

/** A resource that the result carries. A string body is text, anything else bytes. */
export function resource(uri: string, body: string | Uint8Array, mimeType = ''): Content {
  return create(ContentSchema, {
    kind: {
      case: 'resource',
      value: {
        uri,
        mimeType,
        body:
          typeof body === 'string' ? { case: 'text', value: body } : { case: 'data', value: bytesOf(body) },
      },
    },
  });
}

/** A resource that the result names and does not carry. */
export function resourceLink(
  uri: string,
  options: { readonly name?: string; readonly mimeType?: string } = {},
): Content {
  return create(ContentSchema, {
    kind: {
      case: 'resourceLink',
      value: { uri, name: options.name ?? '', mimeType: options.mimeType ?? '' },
    },
  });
}

/** Protobuf messages hold bytes over a plain ArrayBuffer; only bytes in shared memory have to be copied. */
export function bytesOf(data: Uint8Array): Uint8Array<ArrayBuffer> {
  return data.buffer instanceof ArrayBuffer
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
