import { constants } from 'node:http2';
import { create } from '@bufbuild/protobuf';
import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  GetCallResponseSchema,
  ReadBlobResponseSchema,
  StreamCallsResponseSchema,
  ToolService,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_UNSENT_BYTES, SLOW_READER_MS } from '../../../src/core/limits.ts';
import { accepted, refused } from '../../../src/core/refusal.ts';
import { callBytes, openSlowly, readAll, type Served, serve } from '../serve.ts';

const LARGE = 'x'.repeat(2 * MAX_UNSENT_BYTES);
const { getCall, readBlob, streamCalls } = ToolService.method;

afterEach(() => {
  vi.useRealTimers();
});

/** A service each of whose answers is larger than what a peer takes that does not read. */
function serveLarge(): Promise<Served> {
  return serve({
    getCall: async () => accepted(create(GetCallResponseSchema, { call: { arguments: LARGE } })),
    async readBlob(_request, out) {
      void out.write(create(ReadBlobResponseSchema, { data: Buffer.from(LARGE) }));
      return accepted(undefined);
    },
    streamCalls(duplex) {
      duplex.write(create(StreamCallsResponseSchema, { updates: [{ callId: LARGE }] }));
      duplex.end(refused('overloaded', 'Too slow.').refusal);
    },
  });
}

describe('5.10: an answer that its peer does not take', () => {
  it.each([
    ['unary', getCall],
    ['server stream', readBlob],
    ['bidirectional', streamCalls],
  ])('is dropped with its stream (%s), and the engine lives', async (_kind, method) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await using served = await serveLarge();
    using reader = openSlowly(served, method, Buffer.alloc(0));
    const { stream } = reader;
    stream.end();
    await new Promise((resolve) => stream.once('readable', resolve));
    const closed = new Promise((resolve) => stream.once('close', resolve));
    stream.on('error', () => undefined);
    await vi.advanceTimersByTimeAsync(SLOW_READER_MS);
    stream.resume();
    await closed;
    expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
    expect(await callBytes(served.client, ToolService.method.listTools, Buffer.alloc(0))).toBeInstanceOf(
      Error,
    );
  });

  it('is kept for a peer that takes it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await using served = await serveLarge();
    using reader = openSlowly(served, getCall, Buffer.alloc(0));
    reader.stream.end();
    const { messages, code } = await readAll(reader);
    await vi.advanceTimersByTimeAsync(SLOW_READER_MS);
    expect(messages.map(({ byteLength }) => byteLength > LARGE.length)).toEqual([true]);
    expect(code).toBe(status.OK);
    expect(reader.stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  });
});
