import { Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_MESSAGE_BYTES } from '../../../src/core/limits.ts';
import { accepted } from '../../../src/core/refusal.ts';
import { bytesOf, callBytes, errorInfoOf, pathOf, serve } from '../serve.ts';

const METHOD = ToolService.method.listTools;

async function refusalOf(answer: ReturnType<typeof callBytes>) {
  const told = await answer;
  return 'metadata' in told
    ? { code: told.code, info: errorInfoOf(told), message: told.details }
    : { code: status.OK, info: undefined, message: '' };
}

describe('what grpc-js refuses by itself', () => {
  it('4.8: a method that is not there, with a reason', async () => {
    await using served = await serve({});
    const unknown = { parent: { typeName: 'spindle.v1.ToolService' }, name: 'Explode' };
    const path = `/${unknown.parent.typeName}/${unknown.name}`;
    const told = await new Promise((resolve) => {
      served.client.makeUnaryRequest(path, bytesOf, bytesOf, Buffer.alloc(0), (error) =>
        resolve({ code: error?.code, info: error && errorInfoOf(error), message: error?.details }),
      );
    });
    expect(told).toMatchObject({
      code: status.UNIMPLEMENTED,
      info: { domain: 'spindle.v1', reason: 'not_implemented' },
      message: expect.stringContaining(path),
    });
  });

  it('3.4, 4.8: a message that is too large, with the limit', async () => {
    await using served = await serve({});
    const told = await refusalOf(callBytes(served.client, METHOD, Buffer.alloc(MAX_MESSAGE_BYTES + 1)));
    expect(told).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      info: { reason: 'request_too_large', metadata: { limit: String(MAX_MESSAGE_BYTES) } },
    });
  });

  it('3.4, 4.8: the same on a stream that has headers already', async () => {
    await using served = await serve({
      streamCalls: (duplex) => duplex.write({ $typeName: 'spindle.v1.StreamCallsResponse', updates: [] }),
    });
    const stream = served.client.makeBidiStreamRequest(
      pathOf(ToolService.method.streamCalls),
      bytesOf,
      bytesOf,
    );
    stream.on('data', () => stream.write(Buffer.alloc(MAX_MESSAGE_BYTES + 1)));
    stream.on('error', () => undefined);
    const ended = await new Promise<{ code: number; metadata: Metadata }>((resolve) =>
      stream.on('status', resolve),
    );
    expect(ended.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(errorInfoOf(ended)?.reason).toBe('request_too_large');
  });

  it('4.8: a deadline that is none is the fault of its sender', async () => {
    await using served = await serve({});
    const metadata = new Metadata();
    metadata.set('grpc-timeout', 'soon');
    const told = await refusalOf(callBytes(served.client, METHOD, Buffer.alloc(0), { metadata }));
    expect(told).toMatchObject({ code: status.INVALID_ARGUMENT, info: { reason: 'malformed_message' } });
  });

  it('leaves a good answer, and a refusal of ours, as it is', async () => {
    await using served = await serve({
      listTools: async () =>
        accepted({ $typeName: 'spindle.v1.ListToolsResponse', tools: [], nextPageToken: '' }),
    });
    expect(await callBytes(served.client, METHOD, Buffer.alloc(0))).toEqual(Buffer.alloc(0));
    const told = await refusalOf(callBytes(served.client, ToolService.method.getCall, Buffer.alloc(0)));
    expect(told).toMatchObject({ info: { reason: 'not_implemented' }, message: 'not part of this test' });
  });
});
