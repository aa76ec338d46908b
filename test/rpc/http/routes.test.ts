import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { describe, expect, it } from 'vitest';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import {
  CallToolResponseSchema,
  ReadBlobResponseSchema,
  StreamCallToolResponseSchema,
  ToolService,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import { BLOB_CHUNK_BYTES, MAX_MESSAGE_BYTES } from '../../../src/core/limits.ts';
import { accepted, refused } from '../../../src/core/refusal.ts';
import type { RequestContext } from '../../../src/rpc/handlers.ts';
import { post, serve, settled } from '../serve.ts';

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
    expect(served.reports.map(({ event }) => event)).toEqual(['handler_failed', 'handler_failed']);
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

describe('a stream over HTTP', () => {
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
