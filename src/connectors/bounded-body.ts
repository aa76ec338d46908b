import { MAX_CONNECTOR_MESSAGE_BYTES } from '../core/limits.ts';

/** What a server sends is larger than anybody here reads. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';

  constructor() {
    super(`a message of the server is larger than ${MAX_CONNECTOR_MESSAGE_BYTES} bytes`);
  }
}

const LINE_END = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/**
 * Ends a response whose message is larger than MAX_CONNECTOR_MESSAGE_BYTES. A stream of events may go on for ever:
 * there each event is a message, and an empty line ends it.
 */
export function boundedBody(headers: Headers): TransformStream<Uint8Array, Uint8Array> {
  const streams = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '');
  let size = 0;
  let lineIsEmpty = false;

  const count = (chunk: Uint8Array): void => {
    if (!streams) {
      size += chunk.byteLength;
      return;
    }
    for (const byte of chunk) {
      size = byte === LINE_END && lineIsEmpty ? 0 : size + 1;
      if (byte === LINE_END) lineIsEmpty = true;
      else if (byte !== CARRIAGE_RETURN) lineIsEmpty = false;
      if (size > MAX_CONNECTOR_MESSAGE_BYTES) return;
    }
  };

  return new TransformStream({
    transform(chunk, controller) {
      count(chunk);
      if (size > MAX_CONNECTOR_MESSAGE_BYTES) controller.error(new MessageTooLargeError());
      else controller.enqueue(chunk);
    },
  });
}
