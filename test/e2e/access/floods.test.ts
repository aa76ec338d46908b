import { connect as http2Connect, type IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { CallToolRequestSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_MESSAGE_BYTES } from '../../../src/core/limits.ts';
import { openEngine, type TestEngine } from '../engine.ts';
import { method, openClient } from '../raw-client.ts';
import { CLIENT, openGuardedEngine } from './guarded-engine.ts';
import { attack, END_HEADERS, END_STREAM, FRAME, frame, header, requestHeaders } from './http2-frames.ts';

const PATH = '/spindle.v1.ToolService/ListTools';

/** Asks on a connection of its own for as long as something goes on, and says how many answers came. */
async function answersDuring(engine: TestEngine, going: Promise<unknown>): Promise<number> {
  const client = openClient(engine.address);
  let over = false;
  const done = going.finally(() => {
    over = true;
  });
  let answers = 0;
  do {
    await client.call(method.listTools, {});
    answers += 1;
  } while (!over || answers < 20);
  await done;
  client.close();
  return answers;
}

const FLOODS: readonly (readonly [what: string, make: (at: number) => Buffer])[] = [
  ['settings', () => frame(FRAME.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))],
  ['pings', () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
  [
    'rapid resets',
    (at) =>
      Buffer.concat([
        frame(FRAME.headers, END_HEADERS | END_STREAM, 2 * at + 1, requestHeaders(PATH)),
        frame(FRAME.reset, 0, 2 * at + 1, Buffer.from([0, 0, 0, 8])),
      ]),
  ],
  [
    'continuations without an end',
    (at) =>
      at === 0
        ? frame(FRAME.headers, 0, 1, requestHeaders(PATH))
        : frame(FRAME.continuation, 0, 1, header(`x-${at}`, 'x'.repeat(100))),
  ],
  [
    'headers without an end',
    (at) => frame(FRAME.headers, END_HEADERS, 2 * at + 1, header('x', 'y'.repeat(16_000))),
  ],
  ['frames that are none', (at) => frame(0xf0 + (at % 8), 0xff, at, Buffer.alloc(1_000))],
  ['frames of a length that nobody allowed', () => frame(FRAME.ping, 0, 0, Buffer.alloc(60_000))],
];

/** The others cost the engine no more than they cost the attacker. */
const COSTLY = /resets|without an end|length/;

describe('a flood on one connection', () => {
  it.each(FLOODS)('9.1: of %s stops nobody else', async (_what, make) => {
    await using engine = await openEngine({ http: false });
    await using flooding = await attack(engine.address);
    expect(await answersDuring(engine, flooding.flood(make, 5_000))).toBeGreaterThanOrEqual(20);
  });

  it.each(FLOODS.filter(([what]) => COSTLY.test(what)))(
    '9.1: of %s ends that connection',
    async (_what, make) => {
      await using engine = await openEngine({ http: false });
      await using flooding = await attack(engine.address);
      await flooding.flood(make, 20_000);
      await flooding.closed;
    },
  );
});

describe('a connection that says nothing', () => {
  it('9.1: is closed once the time for a hello is over', async () => {
    await using engine = await openEngine({ http: false });
    await using silent = await attack(engine.address);
    silent.socket.write('PRI * HTTP');
    await silent.closed;
  });

  it('9.1: keeps no engine from stopping', async () => {
    const engine = await openEngine();
    const sockets = [engine.address, engine.running.httpAddress ?? ''].map((address) => {
      const [host = '', port] = address.split(':');
      return connect(Number(port), host);
    });
    for (const socket of sockets) socket.resume();
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await engine[Symbol.asyncDispose]();
    await Promise.all(closed);
  });
});

describe('a compressed message', () => {
  it.each([
    ['that is no bomb', 100_000, String(status.UNAUTHENTICATED)],
    ['that decompresses to more than a message may have', 200_000_000, String(status.RESOURCE_EXHAUSTED)],
  ])('3.4, 9.1: %s is not decompressed beyond the bound', async (_what, size, code) => {
    await using guarded = await openGuardedEngine();
    await guarded.token(CLIENT);
    const session = http2Connect(`http://${guarded.engine.address}`);
    const request = session.request({
      ':method': 'POST',
      ':path': '/spindle.v1.ToolService/CallTool',
      'content-type': 'application/grpc',
      'grpc-encoding': 'gzip',
      te: 'trailers',
    });
    const compressed = gzipSync(
      toBinary(CallToolRequestSchema, create(CallToolRequestSchema, { arguments: ' '.repeat(size) })),
    );
    const envelope = Buffer.alloc(5);
    envelope.writeUInt8(1, 0);
    envelope.writeUInt32BE(compressed.length, 1);
    request.end(Buffer.concat([envelope, compressed]));
    request.resume();
    const told = await new Promise<unknown>((resolve) => {
      const look = (headers: IncomingHttpHeaders): void => {
        if (headers['grpc-status'] !== undefined) resolve(headers['grpc-status']);
      };
      request.on('response', look);
      request.on('trailers', look);
    });
    session.destroy();
    expect(told).toBe(code);
  });
});

describe('a stranger’s request over HTTP/1.1', () => {
  it.each([
    ['CallTool', 'application/json', /"code":"unauthenticated"/],
    ['CallTool', 'application/proto', /"code":"unauthenticated"/],
    ['StreamCallTool', 'application/connect+json', /"code":"unauthenticated"/],
    ['CallTool', 'application/grpc-web+proto', /grpc-status: 16/],
  ])(
    '9.1: %s as %s is refused before its message has come, which is not kept',
    async (name, type, refusal) => {
      await using guarded = await openGuardedEngine();
      await guarded.token(CLIENT);
      await using peer = await attack(guarded.engine.running.httpAddress ?? '');
      let answer = '';
      const refused = new Promise<void>((resolve) =>
        peer.socket.on('data', (bytes) => {
          answer += bytes;
          if (refusal.test(answer)) resolve();
        }),
      );
      peer.socket.write(
        `POST /spindle.v1.ToolService/${name} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n` +
          `Content-Length: ${MAX_MESSAGE_BYTES}\r\n\r\n`,
      );
      // What of the message comes is thrown away; the rest is not waited for.
      peer.socket.write(Buffer.alloc(300_000, ' '));
      await refused;
    },
  );
});

describe('a request over HTTP/1.1', () => {
  it.each([
    [
      'with headers over the bound',
      `GET / HTTP/1.1\r\nHost: localhost\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      ' 431 ',
    ],
    [
      'with two lengths',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n',
      ' 400 ',
    ],
    [
      'with a length and chunks',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ' 400 ',
    ],
    ['with two hosts', 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n', ' 40'],
    ['without a host', 'GET / HTTP/1.1\r\n\r\n', ' 400 '],
    ['that is none', 'EHLO evil\r\n\r\n', ' 400 '],
  ])('9.1: %s is refused', async (_what, text, wanted) => {
    await using engine = await openEngine();
    await using peer = await attack(engine.running.httpAddress ?? '');
    const answer = new Promise<string>((resolve) =>
      peer.socket.once('data', (bytes) => resolve(String(bytes))),
    );
    peer.socket.write(text);
    expect((await answer).split('\r\n', 1)[0]).toContain(wanted);
  });
});
