import { constants } from 'node:http2';
import { create, fromBinary } from '@bufbuild/protobuf';
import { type ClientReadableStream, type StatusObject, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { ReadBlobResponseSchema, ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { BLOB_CHUNK_BYTES, MAX_UNSENT_BYTES } from '../../../src/core/limits.ts';
import { accepted, refused } from '../../../src/core/refusal.ts';
import { bytesOf, errorInfoOf, openSlowly, pathOf, readAll, type Served, serve, settled } from '../serve.ts';

const METHOD = ToolService.method.readBlob;

function chunk(index: number, size = 1) {
  return create(ReadBlobResponseSchema, { data: new Uint8Array(size).fill(index % 256) });
}

function open({ client }: Served, request = Buffer.alloc(0)): ClientReadableStream<Buffer> {
  const call = client.makeServerStreamRequest(pathOf(METHOD), bytesOf, bytesOf, request);
  // grpc-js reports a status that is not OK as an error as well.
  call.on('error', () => undefined);
  return call;
}

function statusOf(call: ClientReadableStream<Buffer>): Promise<StatusObject> {
  return new Promise((resolve) => call.on('status', resolve));
}

async function read(call: ClientReadableStream<Buffer>): Promise<{ chunks: number[]; ended: StatusObject }> {
  const chunks: number[] = [];
  call.on('data', (bytes: Buffer) => chunks.push(fromBinary(ReadBlobResponseSchema, bytes).data[0] ?? -1));
  return { ended: await statusOf(call), chunks };
}

describe('a server stream on the gRPC port', () => {
  it('sends messages in order, and ends with OK', async () => {
    await using served = await serve({
      async readBlob(_request, out) {
        for (let index = 0; index < 100; index += 1) await out.write(chunk(index));
        return accepted(undefined);
      },
    });
    const { chunks, ended } = await read(open(served));
    expect(chunks).toEqual(Array.from({ length: 100 }, (_, index) => index));
    expect(ended.code).toBe(status.OK);
  });

  it('4.8: ends with a refusal behind the messages', async () => {
    await using served = await serve({
      async readBlob(_request, out) {
        await out.write(chunk(7));
        return refused('blob_not_found', 'It is gone.');
      },
    });
    const { chunks, ended } = await read(open(served));
    expect(chunks).toEqual([7]);
    expect(ended.code).toBe(status.NOT_FOUND);
    expect(errorInfoOf(ended)).toMatchObject({ reason: 'blob_not_found', domain: 'spindle.v1' });
  });

  it('ends with INTERNAL when its handler throws, and reports it', async () => {
    await using served = await serve({
      async readBlob(_request, out) {
        await out.write(chunk(7));
        throw new Error('secret');
      },
    });
    const { chunks, ended } = await read(open(served));
    expect(chunks).toEqual([7]);
    expect(ended.code).toBe(status.INTERNAL);
    expect(ended.details).not.toContain('secret');
    expect(served.reports).toHaveLength(1);
  });

  it('answers broken bytes with INVALID_ARGUMENT', async () => {
    await using served = await serve({ readBlob: async () => accepted(undefined) });
    const { ended } = await read(open(served, Buffer.from([0x0a])));
    expect(ended.code).toBe(status.INVALID_ARGUMENT);
    expect(errorInfoOf(ended)?.reason).toBe('malformed_message');
  });

  it('5.10: holds a handler back whose reader is slow, and wakes it when the reader reads', async () => {
    const total = 500;
    let written = 0;
    await using served = await serve({
      async readBlob(_request, out) {
        for (; written < total; written += 1) await out.write(chunk(written, BLOB_CHUNK_BYTES));
        return accepted(undefined);
      },
    });
    using reader = openSlowly(served, METHOD, Buffer.alloc(0));
    reader.stream.end();
    const most = (await settled(served, () => written)) * BLOB_CHUNK_BYTES;
    // Beside our own bound: the windows of flow control, and the buffers of two sockets.
    expect(most).toBeLessThan(MAX_UNSENT_BYTES + 2 * BLOB_CHUNK_BYTES + 1024 * 1024);
    const { messages, code } = await readAll(reader);
    const chunks = messages.map((message) => fromBinary(ReadBlobResponseSchema, message).data[0]);
    expect(chunks).toEqual(Array.from({ length: total }, (_, index) => index % 256));
    expect(code).toBe(status.OK);
  });

  it('4.10: wakes a handler whose reader goes away, aborts its signal, and drops what it writes', async () => {
    const { promise: finished, resolve: finish } = Promise.withResolvers<boolean>();
    let written = 0;
    await using served = await serve({
      async readBlob(_request, out, { signal }) {
        for (; !signal.aborted; written += 1) await out.write(chunk(written, BLOB_CHUNK_BYTES));
        await out.write(chunk(0));
        finish(signal.aborted);
        return accepted(undefined);
      },
    });
    using reader = openSlowly(served, METHOD, Buffer.alloc(0));
    reader.stream.end();
    await settled(served, () => written);
    reader.stream.close(constants.NGHTTP2_CANCEL);
    expect(await finished).toBe(true);
    expect(served.reports).toEqual([]);
  });

  it('ends with shutting_down when the server closes before the handler is done', async () => {
    await using served = await serve({
      async readBlob(_request, out, { signal }) {
        await out.write(chunk(1));
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return accepted(undefined);
      },
    });
    const call = open(served);
    const ended = statusOf(call);
    await new Promise((resolve) => call.once('data', resolve));
    await served.listening.drain(0);
    expect(await ended).toMatchObject({ code: status.UNAVAILABLE });
    expect(errorInfoOf(await ended)?.reason).toBe('shutting_down');
  });
});
