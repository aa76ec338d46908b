import { request as httpRequest } from 'node:http';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { describe, expect, it } from 'vitest';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import {
  CallToolRequestSchema,
  CallToolResponseSchema,
  ReadBlobResponseSchema,
  StreamCallToolResponseSchema,
  ToolService,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import { BLOB_CHUNK_BYTES, MAX_MESSAGE_BYTES } from '../../../src/core/limits.ts';
import { accepted, refused } from '../../../src/core/refusal.ts';
import type { RequestContext } from '../../../src/rpc/handlers.ts';
import { type Served, serve, settled } from '../serve.ts';

const TRANSPORTS: [string, (url: string) => Transport][] = [
  ['Connect, binary', (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' })],
  [
    'Connect, JSON',
    (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
  ],
  ['gRPC-Web, binary', (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' })],
  [
    'gRPC-Web, JSON',
    (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
  ],
];

const echo = {
  callTool: async (request: { name: string }) =>
    accepted(create(CallToolResponseSchema, { callId: request.name })),
};

function post(served: Served, method: string, body: string | Buffer, headers: Record<string, string> = {}) {
  return fetch(`${served.url}/spindle.v1.ToolService/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

async function all(answers: AsyncIterable<unknown>): Promise<void> {
  for await (const _answer of answers);
}

async function failure(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call;
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error('the call did not fail');
}

/** Raw, for headers that fetch does not let through. */
function get(url: string, headers: Record<string, string>): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { headers }, async (response) => {
      let body = '';
      for await (const part of response) body += part;
      resolve({ status: response.statusCode ?? 0, body });
    })
      .on('error', reject)
      .end();
  });
}

describe.each(TRANSPORTS)('the HTTP port by %s', (_name, transport) => {
  it('answers a unary call', async () => {
    await using served = await serve(echo);
    const client = createClient(ToolService, transport(served.url));
    expect((await client.callTool({ name: 'grüß' })).callId).toBe('grüß');
  });

  it('streams answers in order', async () => {
    await using served = await serve({
      async streamCallTool(request, out) {
        for (let index = 0; index < 50; index += 1) {
          const update = { callId: `${request.call?.name}${index}` };
          await out.write(create(StreamCallToolResponseSchema, { update }));
        }
        return accepted(undefined);
      },
    });
    const client = createClient(ToolService, transport(served.url));
    const ids: (string | undefined)[] = [];
    for await (const { update } of client.streamCallTool({ call: { name: 'n' } })) ids.push(update?.callId);
    expect(ids).toEqual(Array.from({ length: 50 }, (_, index) => `n${index}`));
  });

  it('4.8: answers a refusal with its code, an ErrorInfo and a RetryInfo', async () => {
    await using served = await serve({
      callTool: async () => refused('overloaded', 'Too many calls.', { limit: '10' }),
    });
    const error = await failure(createClient(ToolService, transport(served.url)).callTool({}));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.rawMessage).toBe('Too many calls.');
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: 'overloaded', domain: 'spindle.v1', metadata: { limit: '10' } },
    ]);
    expect(error.findDetails(RetryInfoSchema)).toHaveLength(1);
  });

  it('4.8: ends a stream with a refusal behind its messages', async () => {
    await using served = await serve({
      async readBlob(_request, out) {
        await out.write(create(ReadBlobResponseSchema, { data: new Uint8Array(3) }));
        return refused('blob_not_found', 'It is gone.');
      },
    });
    const sizes: number[] = [];
    const reading = async (): Promise<void> => {
      const answers = createClient(ToolService, transport(served.url)).readBlob({});
      for await (const { data } of answers) sizes.push(data.byteLength);
    };
    const error = await failure(reading());
    expect(sizes).toEqual([3]);
    expect(error.code).toBe(Code.NotFound);
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: 'blob_not_found' }]);
  });

  it('9.4: reports a handler that throws, and tells the caller nothing of it', async () => {
    const fail = async () => {
      throw new Error('secret');
    };
    await using served = await serve({ callTool: fail, readBlob: fail });
    const client = createClient(ToolService, transport(served.url));
    const unary = await failure(client.callTool({}));
    const stream = await failure(all(client.readBlob({})));
    expect([unary.code, stream.code]).toEqual([Code.Internal, Code.Internal]);
    expect(served.reports.map(({ event }) => event)).toEqual(['rpc.handler_failed', 'rpc.handler_failed']);
    expect(JSON.stringify([served.reports, unary.message, stream.message])).not.toContain('secret');
  });

  it('4.10: a deadline ends the wait, though the handler goes on, and aborts the signal', async () => {
    const aborted = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const never = ({ signal }: RequestContext, abort: () => void): Promise<never> => {
      signal.addEventListener('abort', abort);
      return new Promise(() => undefined);
    };
    await using served = await serve({
      callTool: (_request, context) => never(context, aborted[0].resolve),
      readBlob: (_request, _out, context) => never(context, aborted[1].resolve),
    });
    const client = createClient(ToolService, transport(served.url));
    const unary = await failure(client.callTool({}, { timeoutMs: 50 }));
    const stream = await failure(all(client.readBlob({}, { timeoutMs: 50 })));
    expect([unary.code, stream.code]).toEqual([Code.DeadlineExceeded, Code.DeadlineExceeded]);
    await Promise.all(aborted.map(({ promise }) => promise));
  });

  it('4.10: a caller that goes away aborts the signal, and wakes a handler that writes', async () => {
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    await using served = await serve({
      async readBlob(_request, out, { signal }) {
        const message = create(ReadBlobResponseSchema, { data: new Uint8Array(BLOB_CHUNK_BYTES) });
        while (!signal.aborted) await out.write(message);
        finish();
        return accepted(undefined);
      },
    });
    const client = createClient(ToolService, transport(served.url));
    const leaving = new AbortController();
    for await (const _message of client.readBlob({}, { signal: leaving.signal })) break;
    leaving.abort();
    await finished;
  });

  it('3.4: refuses a message over the limit with RESOURCE_EXHAUSTED', async () => {
    await using served = await serve(echo);
    const client = createClient(ToolService, transport(served.url));
    const error = await failure(client.callTool({ arguments: 'x'.repeat(MAX_MESSAGE_BYTES) }));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect((await client.callTool({ name: 'after' })).callId).toBe('after');
  });

  it('says that a bidirectional stream needs the gRPC port', async () => {
    await using served = await serve({});
    const client = createClient(ToolService, transport(served.url));
    const calls = (async function* () {
      yield { cancelCallIds: ['x'] };
    })();
    const error = await failure(all(client.streamCalls(calls)));
    expect(error.code).toBe(Code.Unimplemented);
    expect(error.message).toContain('gRPC port');
  });

  it('ends a waiting call with shutting_down when the server closes', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    await using served = await serve({
      callTool: () => {
        arrive();
        return new Promise(() => undefined);
      },
    });
    const error = failure(createClient(ToolService, transport(served.url)).callTool({}));
    await arrived;
    await served.listening.drain(0);
    expect((await error).code).toBe(Code.Unavailable);
    expect((await error).findDetails(ErrorInfoSchema)).toMatchObject([{ reason: 'shutting_down' }]);
  });
});

describe('the HTTP port by plain JSON', () => {
  it('takes the field names of the .proto and of JSON, and answers with those of JSON', async () => {
    await using served = await serve({
      callTool: async ({ callId }) => accepted(create(CallToolResponseSchema, { callId })),
    });
    expect(await (await post(served, 'CallTool', '{"call_id":"a"}')).json()).toEqual({ callId: 'a' });
    expect(await (await post(served, 'CallTool', '{"callId":"b"}')).json()).toEqual({ callId: 'b' });
  });

  it.each([
    ['no JSON', '{"name": secret', 'no JSON in UTF-8'],
    ['no object', '"secret"', 'spindle.v1.CallToolRequest has an unknown key'],
    ['a value of another type', '{"name": ["secret"]}', 'spindle.v1.CallToolRequest.name has an unknown key'],
    ['an unknown key', '{"secret": 1}', 'spindle.v1.CallToolRequest has an unknown key'],
    ['a lone surrogate', '{"arguments": "secret\\ud800"}', 'spindle.v1.CallToolRequest.arguments'],
    ['1.1: a string that is not UTF-8', Buffer.from('{"arguments":"secret\xc3("}', 'latin1'), 'UTF-8'],
    ['nothing', '', 'no JSON'],
  ])('9.4: answers %s with 400, says where, and quotes nothing', async (_what, body, expected) => {
    await using served = await serve(echo);
    const response = await post(served, 'CallTool', body);
    const text = await response.text();
    expect(response.status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({
      code: 'invalid_argument',
      details: [{ debug: { reason: 'malformed_message' } }],
    });
    expect(text).toContain(expected);
    expect(text).not.toContain('secret');
    expect(served.reports).toEqual([]);
  });

  it.each([
    ['a truncated message', 'application/proto', Buffer.from([0x0a, 0x05])],
    ['1.1: a string that is not UTF-8', 'application/proto', Buffer.from([0x12, 0x02, 0xc3, 0x28])],
  ])('answers %s in binary with 400', async (_what, type, body) => {
    await using served = await serve(echo);
    const response = await post(served, 'CallTool', body, { 'content-type': type });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ details: [{ debug: { reason: 'malformed_message' } }] });
  });

  it.each([
    ['an envelope cut short', [0, 0, 0, 0, 9, 1]],
    ['two envelopes', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
    ['no envelope', []],
    ['an envelope that says compressed', [1, 0, 0, 0, 0]],
  ])('answers %s by gRPC-Web with INVALID_ARGUMENT', async (_what, bytes) => {
    await using served = await serve(echo);
    const type = 'application/grpc-web+proto';
    const response = await post(served, 'CallTool', Buffer.from(bytes), { 'content-type': type });
    expect(await response.text()).toContain('grpc-status: 3');
    expect(served.reports).toEqual([]);
  });

  it('refuses compression that it does not offer, whatever the header says of which protocol', async () => {
    await using served = await serve(echo);
    for (const header of ['content-encoding', 'connect-content-encoding', 'grpc-encoding']) {
      const response = await post(served, 'CallTool', '{}', { [header]: 'gzip' });
      expect(response.status).toBe(header === 'content-encoding' ? 501 : 200);
    }
    expect(served.reports).toEqual([]);
  });

  it('takes a deadline beyond the longest timer for none', async () => {
    await using served = await serve(echo);
    const response = await post(served, 'CallTool', '{"name":"x"}', { 'connect-timeout-ms': '9999999999' });
    expect(await response.json()).toEqual({ callId: 'x' });
  });

  it('8.2: hands the trace context of the headers over', async () => {
    let seen: RequestContext | undefined;
    await using served = await serve({
      callTool: async (_request, context) => {
        seen = context;
        return accepted(create(CallToolResponseSchema));
      },
    });
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await post(served, 'CallTool', '{}', { traceparent, tracestate: 'a=1', baggage: 'malformed\u00ff' });
    expect(seen?.traceContext).toEqual({ traceparent, tracestate: 'a=1' });
    expect(seen?.peer).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it('answers binary with binary', async () => {
    await using served = await serve(echo);
    const body = toBinary(CallToolRequestSchema, create(CallToolRequestSchema, { name: 'b' }));
    const response = await post(served, 'CallTool', Buffer.from(body), {
      'content-type': 'application/proto',
    });
    expect(fromBinary(CallToolResponseSchema, await response.bytes()).callId).toBe('b');
  });

  it('5.10: holds a handler back whose reader is slow', async () => {
    const total = 500;
    let written = 0;
    await using served = await serve({
      async readBlob(_request, out) {
        const message = create(ReadBlobResponseSchema, { data: new Uint8Array(BLOB_CHUNK_BYTES) });
        for (; written < total; written += 1) await out.write(message);
        return accepted(undefined);
      },
    });
    const type = 'application/connect+proto';
    const response = await post(served, 'ReadBlob', Buffer.alloc(5), { 'content-type': type });
    expect(await settled(served, () => written)).toBeLessThan(total);
    expect((await response.bytes()).byteLength).toBeGreaterThan(total * BLOB_CHUNK_BYTES);
    expect(written).toBe(total);
  });
});

describe('what else the HTTP port answers', () => {
  it('says at / what it is', async () => {
    await using served = await serve({});
    const response = await fetch(`${served.url}/`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ name: 'spindle', services: ['spindle.v1.ToolService'] });
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it.each([
    ['GET', '/nothing', 404, 'GET / lists'],
    ['POST', '/', 404, 'GET / lists'],
    ['POST', '/spindle.v1.WorkerService/Connect', 404, 'GET / lists'],
    ['GET', '/spindle.v1.ToolService/CallTool', 405, 'POST'],
    ['OPTIONS', '/spindle.v1.ToolService/CallTool', 405, 'POST'],
  ])('answers %s %s with %i and says where to look', async (method, path, status, text) => {
    await using served = await serve({});
    const response = await fetch(served.url + path, { method });
    expect(response.status).toBe(status);
    expect(((await response.json()) as { message: string }).message).toContain(text);
  });

  it.each([
    ['CallTool', 'text/plain'],
    ['CallTool', 'application/x-www-form-urlencoded'],
    ['ReadBlob', 'application/json'],
  ])('answers %s in %s with 415 and the types that it takes', async (method, type) => {
    await using served = await serve(echo);
    const response = await post(served, method, '{}', { 'content-type': type });
    expect(response.status).toBe(415);
    expect(await response.text()).toContain('application/connect+json');
  });

  it('refuses, on loopback, names that a rebound DNS entry would have', async () => {
    await using served = await serve(echo);
    const port = served.url.split(':').at(-1);
    const answers: [string, number][] = [];
    for (const host of [
      `localhost:${port}`,
      '127.0.0.1',
      `[::1]:${port}`,
      'LOCALHOST',
      'evil.example',
      '127.0.0.1.evil.example',
      '[',
      'a b',
      '10.0.0.1',
    ]) {
      answers.push([host, (await get(served.url, { host })).status]);
    }
    expect(answers.map(([, status]) => status)).toEqual([200, 200, 200, 200, 403, 403, 403, 403, 403]);
    expect((await get(served.url, { host: 'evil.example' })).body).toContain('localhost');
  });
});
