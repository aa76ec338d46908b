import { type DescMessage, fromBinary, fromJson, type JsonValue, type Message } from '@bufbuild/protobuf';
import type { UniversalServerRequest } from '@connectrpc/connect/protocol';
import { MAX_MESSAGE_BYTES } from '../../core/limits.ts';
import { accepted, type Outcome, refused } from '../../core/refusal.ts';
import { malformed, misfit, NO_PROTOBUF } from '../malformed.ts';
import { dropDistantDeadline } from './deadline.ts';

/** How a request's only message is written, by its content type. */
interface Form {
  readonly json: boolean;
  /** A flag and a length stand before the message: gRPC-Web, and Connect's streams. */
  readonly enveloped: boolean;
  /** The header that says how the message is compressed. */
  readonly encodingHeader: string;
}

const CONTENT_TYPE = /^application\/(?:(connect|grpc-web)\+)?(json|proto)\b/i;
const GRPC_WEB = /^application\/grpc-web$/i;
const ENCODING_HEADERS: Readonly<Record<string, string>> = {
  connect: 'connect-content-encoding',
  'grpc-web': 'grpc-encoding',
};
const ENVELOPE_BYTES = 5;
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A request whose message has been read, if its caller may come; its body is now an empty message in the same form. */
export interface TakenRequest {
  readonly request: UniversalServerRequest;
  readonly message: Outcome<Message>;
}

/**
 * Reads the one message of a request before connect does. connect answers bytes that are no message with
 * INTERNAL, replaces what is not UTF-8, and quotes the JSON that it could not read; here all of that is a
 * refusal, which connect then writes in the caller's protocol. Undefined where connect will turn the request
 * away without reading it.
 *
 * @param admits whether the caller may come. It is asked first: what a stranger sends costs no memory and no parsing.
 */
export async function take(
  request: UniversalServerRequest,
  schema: DescMessage,
  admits: () => Promise<boolean>,
): Promise<TakenRequest | undefined> {
  const form = formOf(request.header.get('content-type') ?? '');
  const { body } = request;
  if (form === undefined || request.method !== 'POST' || !isBytes(body)) return undefined;
  const header = new Headers(request.header);
  const plain = (header.get(form.encodingHeader) ?? 'identity') === 'identity';
  header.delete(form.encodingHeader);
  const message = await messageOf(() => readMessage(body, schema, form), plain, admits);
  dropDistantDeadline(header);
  // It counted the body that is replaced.
  header.delete('content-length');
  return { message, request: { ...request, header, body: chunks(emptyBody(form)) } };
}

async function messageOf(
  read: () => Promise<Outcome<Message>>,
  plain: boolean,
  admits: () => Promise<boolean>,
): Promise<Outcome<Message>> {
  if (!(await admits())) return UNREAD;
  return plain ? read() : COMPRESSED;
}

/** Nobody is told this: the caller hears why it may not come. */
const UNREAD = refused('unauthenticated', 'The message of a caller who may not come is not read.');

const COMPRESSED = refused(
  'not_implemented',
  'This port reads no compressed requests. Send the message as it is.',
);

function formOf(contentType: string): Form | undefined {
  const match = CONTENT_TYPE.exec(contentType);
  const protocol = GRPC_WEB.test(contentType) ? 'grpc-web' : (match?.[1]?.toLowerCase() ?? '');
  if (match === null && protocol === '') return undefined;
  return {
    json: match?.[2]?.toLowerCase() === 'json',
    enveloped: protocol !== '',
    encodingHeader: ENCODING_HEADERS[protocol] ?? 'content-encoding',
  };
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
  if (!whole || bytes.readUInt8(0) !== 0)
    return malformed(schema, 'its body is not one envelope with a message');
  return parse(bytes.subarray(ENVELOPE_BYTES), schema, form);
}

function parse(bytes: Uint8Array, schema: DescMessage, form: Form): Outcome<Message> {
  if (form.json) return parseJson(bytes, schema);
  try {
    return accepted(fromBinary(schema, bytes));
  } catch {
    return malformed(schema, NO_PROTOBUF);
  }
}

function parseJson(bytes: Uint8Array, schema: DescMessage): Outcome<Message> {
  let value: JsonValue;
  try {
    value = JSON.parse(UTF8.decode(bytes));
  } catch {
    return malformed(schema, 'its body is no JSON in UTF-8');
  }
  try {
    return accepted(fromJson(schema, value));
  } catch (error) {
    return misfit(schema, error);
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
