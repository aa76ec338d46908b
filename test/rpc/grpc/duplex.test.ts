import { create, fromBinary } from '@bufbuild/protobuf';
import { type ClientDuplexStream, type StatusObject, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  type StreamCallsRequest,
  type StreamCallsResponse,
  StreamCallsResponseSchema,
  ToolService,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_MESSAGE_BYTES, MAX_UNSENT_BYTES } from '../../../src/core/limits.ts';
import { refused } from '../../../src/core/refusal.ts';
import type { Duplex, RequestContext } from '../../../src/rpc/handlers.ts';
import {
  bytesOf,
  callBytes,
  errorInfoOf,
  openSlowly,
  pathOf,
  readAll,
  requestBytes,
  type Served,
  serve,
  settled,
} from '../serve.ts';

const METHOD = ToolService.method.streamCalls;
type Stream = Duplex<StreamCallsRequest, StreamCallsResponse>;
type Call = ClientDuplexStream<Buffer, Buffer>;

function open({ client }: Served): Call {
  const call = client.makeBidiStreamRequest(pathOf(METHOD), bytesOf, bytesOf);
  call.on('error', () => undefined);
  return call;
}

function asking(...ids: string[]): Buffer {
  return requestBytes(METHOD, { cancelCallIds: ids });
}

function answering(id: string): StreamCallsResponse {
  return create(StreamCallsResponseSchema, { updates: [{ callId: id }] });
}

function idIn(bytes: Buffer): string {
  return fromBinary(StreamCallsResponseSchema, bytes).updates[0]?.callId ?? '';
}

async function read(call: Call): Promise<{ ids: string[]; ended: StatusObject }> {
  const ids: string[] = [];
  call.on('data', (bytes: Buffer) => ids.push(idIn(bytes)));
  const ended = await new Promise<StatusObject>((resolve) => call.on('status', resolve));
  return { ids, ended };
}

function echo(stream: Stream): void {
  stream.onMessage((message) => {
    for (const id of message.cancelCallIds) stream.write(answering(id));
  });
  stream.onEnd(() => stream.end());
}

/** Serves a stream that only notes what it is told. */
async function noted() {
  const notes: string[] = [];
  const { promise: gone, resolve } = Promise.withResolvers<RequestContext>();
  const { promise: stream, resolve: opened } = Promise.withResolvers<Stream>();
  const served = await serve({
    streamCalls(duplex, context) {
      duplex.onMessage((message) => notes.push(...message.cancelCallIds));
      duplex.onEnd(() => notes.push('end'));
      duplex.onGone((reason) => {
        notes.push(`gone: ${reason}`);
        resolve(context);
      });
      opened(duplex);
    },
  });
  return { served, notes, gone, stream };
}

describe('a bidirectional stream on the gRPC port', () => {
  it('hands messages over in order in both directions, and ends after the half-close', async () => {
    await using served = await serve({ streamCalls: echo });
    const call = open(served);
    for (let index = 0; index < 200; index += 1) call.write(asking(`a${index}`, `b${index}`));
    call.end();
    const { ids, ended } = await read(call);
    expect(ids).toEqual(Array.from({ length: 200 }, (_, index) => [`a${index}`, `b${index}`]).flat());
    expect(ended.code).toBe(status.OK);
  });

  it('ends with a refusal behind what was written, and tells the handler nothing more', async () => {
    const notes: string[] = [];
    await using served = await serve({
      streamCalls(duplex) {
        duplex.onGone((reason) => notes.push(reason));
        duplex.onMessage((message) => {
          notes.push(...message.cancelCallIds);
          duplex.write(answering('last'));
          duplex.end(refused('protocol_error', 'Unexpected frame.').refusal);
          duplex.end();
          duplex.write(answering('too late'));
        });
      },
    });
    const call = open(served);
    call.write(asking('first'));
    call.write(asking('second'));
    const { ids, ended } = await read(call);
    expect(ids).toEqual(['last']);
    expect(ended.code).toBe(status.INVALID_ARGUMENT);
    expect(errorInfoOf(ended)).toMatchObject({ reason: 'protocol_error', domain: 'spindle.v1' });
    expect(notes).toEqual(['first']);
  });

  it('ends alone with INVALID_ARGUMENT on broken bytes, after the messages before them', async () => {
    const { served, notes, gone } = await noted();
    await using _ = served;
    const call = open(served);
    call.write(asking('good'));
    call.write(Buffer.from([0x0a, 0x05]));
    call.write(asking('never read'));
    const { ended } = await read(call);
    expect(ended.code).toBe(status.INVALID_ARGUMENT);
    expect(errorInfoOf(ended)?.reason).toBe('malformed_message');
    expect((await gone).signal.aborted).toBe(true);
    expect(notes).toEqual([
      'good',
      expect.stringContaining('gone: The request is no spindle.v1.StreamCallsRequest'),
    ]);
  });

  it('3.4: ends alone on a message over the limit, and other calls on the connection go on', async () => {
    const { served, gone } = await noted();
    await using _ = served;
    const call = open(served);
    call.write(asking('x'.repeat(MAX_MESSAGE_BYTES)));
    const { ended } = await read(call);
    expect(ended.code).toBe(status.RESOURCE_EXHAUSTED);
    await gone;
    expect(await callBytes(served.client, ToolService.method.getCall, Buffer.alloc(0))).toMatchObject({
      code: status.UNIMPLEMENTED,
    });
  });

  it('tells of a peer that went away, once, and aborts the signal', async () => {
    const { served, notes, gone, stream } = await noted();
    await using _ = served;
    const call = open(served);
    call.write(asking('one'));
    await stream;
    call.cancel();
    expect((await gone).signal.aborted).toBe(true);
    (await stream).write(answering('nobody'));
    (await stream).end();
    expect(notes.filter((note) => note.startsWith('gone'))).toHaveLength(1);
    expect(served.reports).toEqual([]);
  });

  it('tells of a peer whose process died', async () => {
    const { served, gone, stream } = await noted();
    await using _ = served;
    const call = open(served);
    call.write(asking('one'));
    await stream;
    served.client.getChannel().close();
    call.cancel();
    expect((await gone).signal.aborted).toBe(true);
  });

  it.each(['onMessage', 'onEnd'] as const)(
    'ends with INTERNAL when its %s throws, and reports it',
    async (callback) => {
      const { promise: gone, resolve } = Promise.withResolvers<string>();
      await using served = await serve({
        streamCalls(duplex) {
          duplex.onGone(resolve);
          duplex[callback](() => {
            throw new Error('secret');
          });
        },
      });
      const call = open(served);
      call.write(asking('one'));
      call.end();
      const { ended } = await read(call);
      expect(ended).toMatchObject({ code: status.INTERNAL });
      expect(await gone).toContain('StreamCalls');
      expect(served.reports).toMatchObject([{ event: 'handler_failed' }]);
      expect(JSON.stringify([ended.details, served.reports])).not.toContain('secret');
    },
  );

  it('ends with INTERNAL when it is opened by a handler that throws', async () => {
    await using served = await serve({
      streamCalls() {
        throw new Error('secret');
      },
    });
    const { ended } = await read(open(served));
    expect(ended.code).toBe(status.INTERNAL);
    expect(served.reports).toHaveLength(1);
  });

  it('5.10: says when a reader is slow, and when it has caught up', async () => {
    const id = 'x'.repeat(16 * 1024);
    const total = 1_000;
    let written = 0;
    let blocked = 0;
    await using served = await serve({
      streamCalls(duplex) {
        const fill = (): void => {
          while (written < total) {
            written += 1;
            if (!duplex.write(answering(id))) {
              blocked += 1;
              return;
            }
          }
          duplex.end();
        };
        duplex.onDrain(fill);
        fill();
      },
    });
    using reader = openSlowly(served, METHOD);
    expect(await settled(served, () => written)).toBeLessThan(total);
    expect(blocked).toBe(1);
    const { messages, code } = await readAll(reader);
    expect(messages).toHaveLength(total);
    expect(code).toBe(status.OK);
    expect(blocked).toBeGreaterThan(10);
  });

  it('5.10: answers false for as long as MAX_UNSENT_BYTES wait', async () => {
    const { promise: answers, resolve } = Promise.withResolvers<boolean[]>();
    await using served = await serve({
      streamCalls(duplex) {
        const half = answering('x'.repeat(MAX_UNSENT_BYTES / 2));
        resolve([duplex.write(half), duplex.write(half), duplex.write(answering('small'))]);
      },
    });
    const call = open(served);
    expect(await answers).toEqual([true, false, false]);
    call.cancel();
  });

  it('5.10: does not read while it is paused, so that the peer is held back', async () => {
    let received = 0;
    const { promise: stream, resolve } = Promise.withResolvers<Stream>();
    await using served = await serve({
      streamCalls(duplex) {
        duplex.onMessage(() => {
          received += 1;
        });
        duplex.onEnd(() => duplex.end());
        duplex.pause();
        resolve(duplex);
      },
    });
    const call = open(served);
    const total = 200;
    let sent = 0;
    for (let index = 0; index < total; index += 1) {
      call.write(asking('x'.repeat(64 * 1024)), () => {
        sent += 1;
      });
    }
    call.end();
    const duplex = await stream;
    expect(await settled(served, () => sent)).toBeLessThan(total);
    expect(received).toBe(0);
    duplex.resume();
    const { ended } = await read(call);
    expect(ended.code).toBe(status.OK);
    expect(received).toBe(total);
  });

  it('ends with shutting_down when the server closes, and tells the handler', async () => {
    const { served, gone, stream } = await noted();
    await using _ = served;
    const call = open(served);
    const outcome = read(call);
    await stream;
    await served.listening.drain(0);
    const { ended } = await outcome;
    expect(ended.code).toBe(status.UNAVAILABLE);
    expect(errorInfoOf(ended)?.reason).toBe('shutting_down');
    expect((await gone).signal.aborted).toBe(true);
  });
});
