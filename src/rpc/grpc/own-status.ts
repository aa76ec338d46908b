import type { OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { type Server, status } from '@grpc/grpc-js';
import { MAX_MESSAGE_BYTES } from '../../core/limits.ts';
import { type Refusal, refused } from '../../core/refusal.ts';
import { grpcStatus } from '../status.ts';

const STREAM_HANDLER = '_streamHandler';
const DETAILS = 'grpc-status-details-bin';

/**
 * Gives the statuses that grpc-js makes by itself, for a method that is not there and a message that it does not
 * read, the details that every other refusal has (4.8). It writes them below everything that its interceptors see,
 * so there is no public way to them; where the private one is gone, they have no details, and
 * test/rpc/grpc/own-status.test.ts fails. To be called before the server is bound.
 */
export function explainOwnStatuses(server: Server): void {
  const handle: unknown = Reflect.get(server, STREAM_HANDLER);
  if (typeof handle !== 'function') return;
  Reflect.set(
    server,
    STREAM_HANDLER,
    (interceptors: unknown, stream: ServerHttp2Stream, headers: unknown) => {
      explain(stream);
      Reflect.apply(handle, server, [interceptors, stream, headers]);
    },
  );
}

function explain(stream: ServerHttp2Stream): void {
  const { respond, sendTrailers } = stream;
  stream.respond = (headers, options) => respond.call(stream, headers && explained(headers), options);
  stream.sendTrailers = (trailers) => sendTrailers.call(stream, explained(trailers));
}

/** Headers as they are, unless they hold a status of grpc-js's own. */
function explained<Headers extends OutgoingHttpHeaders | readonly string[]>(
  headers: Headers,
): Headers | OutgoingHttpHeaders {
  if (isList(headers)) return headers;
  const { 'grpc-status': code, 'grpc-message': message } = headers;
  // All but OK and a few failures have no business here: this is done for each request.
  if (code === undefined || Number(code) === status.OK || headers[DETAILS] !== undefined) return headers;
  const refusal = refusalOf(Number(code), String(message ?? ''));
  if (refusal === undefined) return headers;
  const { code: newCode, details, metadata } = grpcStatus(refusal);
  const more = { 'grpc-status': newCode, 'grpc-message': encodeURI(details) };
  return { ...headers, ...metadata.toHttp2Headers(), ...more };
}

function isList(headers: OutgoingHttpHeaders | readonly string[]): headers is readonly string[] {
  return Array.isArray(headers);
}

/** What a status of grpc-js says, in our words. Undefined where it is another's, or says enough by its code. */
function refusalOf(code: number, message: string): Refusal | undefined {
  const text = decoded(message);
  switch (code) {
    case status.UNIMPLEMENTED:
      return refused('not_implemented', `${text}. Compare the client with the engine's .proto files.`)
        .refusal;
    case status.RESOURCE_EXHAUSTED:
      return refused('request_too_large', `${text}.`, { limit: String(MAX_MESSAGE_BYTES) }).refusal;
    case status.INTERNAL:
      return refused('malformed_message', `${text}.`).refusal;
    default:
      return undefined;
  }
}

/** grpc-js encodes its own texts, and not all of them. */
function decoded(message: string): string {
  try {
    return decodeURI(message);
  } catch {
    return message;
  }
}
