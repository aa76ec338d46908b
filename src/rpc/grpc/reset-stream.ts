import { constants } from 'node:http2';

/**
 * Drops the HTTP/2 stream under a grpc-js call, and with it what waits for its peer. grpc-js itself sends a status
 * behind the messages, so to a peer that takes none it never comes, and the messages stay in memory for as long as
 * the connection lives. There is no public way to the stream; where the private one is gone, nothing happens, and
 * test/rpc/grpc/reset-stream.test.ts fails.
 */
export function resetStream(call: object): void {
  const stream = field(field(call, 'call'), 'stream');
  const close = field(stream, 'close');
  if (typeof close === 'function') Reflect.apply(close, stream, [constants.NGHTTP2_CANCEL]);
}

function field(owner: unknown, name: string): unknown {
  return typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : undefined;
}
