import { connect } from 'node:net';
import { create, fromBinary } from '@bufbuild/protobuf';
import { Metadata, status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  CallToolResponseSchema,
  GetCallResponseSchema,
  ToolService,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_MESSAGE_BYTES } from '../../../src/core/limits.ts';
import { accepted, refused } from '../../../src/core/refusal.ts';
import type { RequestContext } from '../../../src/rpc/handlers.ts';
import { bytesOf, callBytes, errorInfoOf, pathOf, requestBytes, serve } from '../serve.ts';

const METHOD = ToolService.method.callTool;
const echo = {
  callTool: async (request: { name: string }) =>
    accepted(create(CallToolResponseSchema, { callId: request.name })),
};

function nameIn(answer: unknown): string {
  if (!(answer instanceof Buffer)) throw answer;
  return fromBinary(CallToolResponseSchema, answer).callId;
}

function failureIn(answer: unknown) {
  if (
    answer instanceof Buffer ||
    !(answer instanceof Error) ||
    !('code' in answer) ||
    !('metadata' in answer)
  ) {
    throw new Error('the call did not fail');
  }
  if (!(answer.metadata instanceof Metadata)) throw new Error('no metadata');
  return { code: answer.code, message: answer.message, info: errorInfoOf({ metadata: answer.metadata }) };
}

function untilAborted({ signal }: RequestContext, abort: () => void): Promise<never> {
  signal.addEventListener('abort', abort);
  return new Promise(() => undefined);
}

describe('a unary method on the gRPC port', () => {
  it('answers a message with a message', async () => {
    await using served = await serve(echo);
    expect(nameIn(await callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'grüß' })))).toBe(
      'grüß',
    );
  });

  it('4.8: answers a refusal with its status and an ErrorInfo', async () => {
    await using served = await serve({
      callTool: async () => refused('call_id_conflict', 'The id is taken.', { call_id: 'c1' }),
    });
    const failure = failureIn(await callBytes(served.client, METHOD, requestBytes(METHOD, {})));
    expect(failure.code).toBe(status.ALREADY_EXISTS);
    expect(failure.message).toContain('The id is taken.');
    expect(failure.info).toMatchObject({
      reason: 'call_id_conflict',
      domain: 'spindle.v1',
      metadata: { call_id: 'c1' },
    });
  });

  it('survives a refusal that quotes what no header can carry', async () => {
    await using served = await serve({
      callTool: async () =>
        refused('call_not_found', `no call \ud800\n${'é'.repeat(100_000)}`, { id: '\udfff' }),
    });
    const failure = failureIn(await callBytes(served.client, METHOD, requestBytes(METHOD, {})));
    expect(failure.code).toBe(status.NOT_FOUND);
    expect(failure.info?.metadata).toEqual({ id: '\ufffd' });
  });

  it('9.4: reports a handler that throws by its place, tells the caller nothing of it, and goes on', async () => {
    await using served = await serve({
      ...echo,
      getCall: async () => {
        throw new RangeError('the secret argument');
      },
    });
    const failure = failureIn(await callBytes(served.client, ToolService.method.getCall, Buffer.alloc(0)));
    expect(failure.code).toBe(status.INTERNAL);
    expect(failure.info?.reason).toBe('internal');
    expect(served.reports).toMatchObject([
      {
        level: 'error',
        event: 'handler_failed',
        facts: { method: 'spindle.v1.ToolService/GetCall', error: 'RangeError' },
      },
    ]);
    expect(JSON.stringify([served.reports, failure])).not.toContain('secret');
    expect(String(served.reports[0]?.facts['at'])).toContain('unary.test.ts');
    expect(nameIn(await callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'alive' })))).toBe(
      'alive',
    );
  });

  it.each([
    ['a tag without a value', Buffer.from([0x0a])],
    ['a length beyond the end', Buffer.from([0x0a, 0x05, 0x61])],
    ['a group that nobody opened', Buffer.from([0x0c])],
    ['1.1: a string that is not UTF-8', Buffer.from([0x12, 0x02, 0xc3, 0x28])],
    ['1.1: a string with half a surrogate pair', Buffer.from([0x12, 0x03, 0xed, 0xa0, 0x80])],
  ])('answers %s with INVALID_ARGUMENT and goes on', async (_what, bytes) => {
    await using served = await serve(echo);
    const failure = failureIn(await callBytes(served.client, METHOD, bytes));
    expect(failure.code).toBe(status.INVALID_ARGUMENT);
    expect(failure.info).toMatchObject({ reason: 'malformed_message', domain: 'spindle.v1' });
    expect(nameIn(await callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'alive' })))).toBe(
      'alive',
    );
    expect(served.reports).toEqual([]);
  });

  it('answers any bytes with an answer or INVALID_ARGUMENT', async () => {
    await using served = await serve(echo);
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), async (bytes) => {
        const answer = await callBytes(served.client, METHOD, Buffer.from(bytes));
        const code = answer instanceof Buffer ? status.OK : failureIn(answer).code;
        expect([status.OK, status.INVALID_ARGUMENT]).toContain(code);
      }),
      { numRuns: 200 },
    );
    expect(served.reports).toEqual([]);
  });

  it('3.4: refuses a message over the limit alone, and the connection lives', async () => {
    await using served = await serve(echo);
    const slow = callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'beside' }));
    const large = requestBytes(METHOD, { arguments: 'x'.repeat(MAX_MESSAGE_BYTES) });
    expect(failureIn(await callBytes(served.client, METHOD, large)).code).toBe(status.RESOURCE_EXHAUSTED);
    expect(nameIn(await slow)).toBe('beside');
    expect(nameIn(await callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'after' })))).toBe(
      'after',
    );
  });

  it('takes a message of exactly the limit', async () => {
    await using served = await serve({
      callTool: async (request) =>
        accepted(create(CallToolResponseSchema, { attempts: request.arguments.length })),
    });
    const overhead = requestBytes(METHOD, { arguments: 'x'.repeat(MAX_MESSAGE_BYTES - 5) });
    expect(overhead.byteLength).toBe(MAX_MESSAGE_BYTES);
    const answer = await callBytes(served.client, METHOD, overhead);
    expect(answer).toBeInstanceOf(Buffer);
  });

  it('ends an answer over the limit with RESOURCE_EXHAUSTED, and the connection lives', async () => {
    await using served = await serve({
      ...echo,
      getCall: async () =>
        accepted(create(GetCallResponseSchema, { call: { arguments: 'x'.repeat(MAX_MESSAGE_BYTES) } })),
    });
    const answer = await callBytes(served.client, ToolService.method.getCall, Buffer.alloc(0));
    expect(failureIn(answer).code).toBe(status.RESOURCE_EXHAUSTED);
    expect(nameIn(await callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'alive' })))).toBe(
      'alive',
    );
  });

  it('4.10: a deadline ends the wait and aborts the signal', async () => {
    const { promise: aborted, resolve: abort } = Promise.withResolvers<void>();
    await using served = await serve({ callTool: (_request, context) => untilAborted(context, abort) });
    const deadline = new Date(Date.now() + 50);
    const failure = failureIn(await callBytes(served.client, METHOD, requestBytes(METHOD, {}), { deadline }));
    expect(failure.code).toBe(status.DEADLINE_EXCEEDED);
    await aborted;
  });

  it('4.10: a caller that goes away aborts the signal', async () => {
    const { promise: aborted, resolve: abort } = Promise.withResolvers<void>();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    await using served = await serve({
      callTool: (_request, context) => {
        arrive();
        return untilAborted(context, abort);
      },
    });
    const call = served.client.makeUnaryRequest(
      pathOf(METHOD),
      bytesOf,
      bytesOf,
      Buffer.alloc(0),
      () => undefined,
    );
    await arrived;
    call.cancel();
    await aborted;
  });

  it('8.2: hands the trace context of the metadata over, and the anonymous caller', async () => {
    let seen: RequestContext | undefined;
    await using served = await serve({
      callTool: async (_request, context) => {
        seen = context;
        return accepted(create(CallToolResponseSchema));
      },
    });
    const metadata = new Metadata();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    metadata.set('traceparent', traceparent);
    metadata.set('tracestate', 'a=1,b=2');
    metadata.set('baggage', 'k=v');
    await callBytes(served.client, METHOD, requestBytes(METHOD, {}), { metadata });
    expect(seen?.traceContext).toEqual({ traceparent, tracestate: 'a=1,b=2', baggage: 'k=v' });
    expect(seen?.caller).toMatchObject({ tenant: 'default', subject: 'anonymous' });
    expect(seen?.peer).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it('turns metadata of 100 KiB away, and the engine lives', async () => {
    await using served = await serve(echo);
    const metadata = new Metadata();
    metadata.set('large', 'x'.repeat(100 * 1024));
    expect(await callBytes(served.client, METHOD, requestBytes(METHOD, {}), { metadata })).toBeInstanceOf(
      Error,
    );
    expect(nameIn(await callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'alive' })))).toBe(
      'alive',
    );
  });

  it('closes a connection that speaks no HTTP/2, and the engine lives', async () => {
    await using served = await serve(echo);
    const port = Number(served.listening.grpcAddress.split(':')[1]);
    await new Promise<void>((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
      socket.on('close', () => resolve());
      socket.on('error', reject);
      socket.resume();
    });
    expect(nameIn(await callBytes(served.client, METHOD, requestBytes(METHOD, { name: 'alive' })))).toBe(
      'alive',
    );
  });
});
