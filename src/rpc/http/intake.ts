import { type DescMessage, fromBinary, fromJsonString, type Message } from '@bufbuild/protobuf';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { MAX_MESSAGE_BYTES } from '../../core/limits.ts';
import { accepted, type Outcome, refused } from '../../core/refusal.ts';
import { malformed } from '../malformed.ts';

/** How a request's only message is written, by its content type. */
interface Form {
  readonly json: boolean;
  /** A flag and a length stand before the message: gRPC-Web, and Connect's streams. */
  readonly enveloped: boolean;
}

const CONTENT_TYPE = /^application\/(?:(connect|grpc-web)\+)?(json|proto)\b/i;
const GRPC_WEB = /^application\/grpc-web$/i;
const ENVELOPE_BYTES = 5;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Each protocol has its own header for the compression of a message; none is accepted. */
const ENCODINGS = ['content-encoding', 'connect-content-encoding', 'grpc-encoding'];

/** A request whose message has been read; its body is now an empty message in the same form. */
export interface TakenRequest {
  readonly request: UniversalServerRequest;
  readonly message: Outcome<Message>;
}

/**
 * Reads the one message of a request before connect does. connect answers bytes that are no message with
 * INTERNAL, replaces what is not UTF-8, and quotes the JSON that it could not read; here all of that is a
 * refusal, which connect then writes in the caller's protocol. Undefined where connect will turn the request
 * away without reading it.
 */
export async function take(
  request: UniversalServerRequest,
  schema: DescMessage,
): Promise<TakenRequest | undefined> {
  const form = formOf(request.header.get('content-type') ?? '');
  const { body } = request;
  if (form === undefined || request.method !== 'POST' || !isBytes(body)) return undefined;
  if (ENCODINGS.some((name) => (request.header.get(name) ?? 'identity') !== 'identity')) return undefined;
  const message = await readMessage(body, schema, form);
  const header = new Headers(request.header);
  // It counted the body that is replaced.
  header.delete('content-length');
  return { message, request: { ...request, header, body: chunks(emptyBody(form)) } };
}

function formOf(contentType: string): Form | undefined {
  if (GRPC_WEB.test(contentType)) return { json: false, enveloped: true };
  const match = CONTENT_TYPE.exec(contentType);
  if (match === null) return undefined;
  return { json: match[2]?.toLowerCase() === 'json', enveloped: match[1] !== undefined };
}

function isBytes(body: UniversalServerRequest['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

async function readMessage(
  body: AsyncIterable<Uint8Array>,
  schema: DescMessage,
  form: Form,
): Promise<Outcome<Message>> {
  const most = MAX_MESSAGE_BYTES + (form.enveloped ? ENVELOPE_BYTES : 0);
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.byteLength;
    if (size > most) {
      return refused(
        'request_too_large',
        `A message may have ${MAX_MESSAGE_BYTES} bytes; this one has more.`,
        {
          limit: String(MAX_MESSAGE_BYTES),
        },
      );
    }
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  if (!form.enveloped) return parse(bytes, schema, form);
  // Flags other than 0 say compressed, or end of a stream; neither fits a request.
  const whole =
    bytes.byteLength >= ENVELOPE_BYTES && bytes.readUInt32BE(1) === bytes.byteLength - ENVELOPE_BYTES;
  if (!whole || bytes.readUInt8(0) !== 0) return malformed(schema, 'not one envelope with a message');
  return parse(bytes.subarray(ENVELOPE_BYTES), schema, form);
}

function parse(bytes: Uint8Array, schema: DescMessage, form: Form): Outcome<Message> {
  try {
    return accepted(form.json ? fromJsonString(schema, UTF8.decode(bytes)) : fromBinary(schema, bytes));
  } catch {
    return malformed(schema, form.json ? 'no JSON' : 'no valid protobuf');
  }
}

function emptyBody({ json, enveloped }: Form): Uint8Array {
  const message = Buffer.from(json ? '{}' : '');
  if (!enveloped) return message;
  const envelope = Buffer.alloc(ENVELOPE_BYTES);
  envelope.writeUInt32BE(message.byteLength, 1);
  return Buffer.concat([envelope, message]);
}

async function* chunks(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
