import type { MessageInitShape } from '@bufbuild/protobuf';
import { create, toBinary } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { Metadata } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import {
  CallQueuedSchema,
  type CallToolRequest,
  CallToolResponseSchema,
  type CallUpdateSchema,
  StreamCallsResponseSchema,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import {
  type CallEvent,
  type Client,
  createClient,
  defineTool,
  SpindleError,
  ToolError,
} from '../../../src/sdk/index.ts';
import { type EnginePeer, type PeerHandlers, startEnginePeer } from '../engine-peer.ts';

let peer: EnginePeer | undefined;
let client: Client | undefined;

afterEach(async () => {
  await client?.close();
  await peer?.close();
  peer = undefined;
  client = undefined;
});

type Script = (call: CallToolRequest) => readonly MessageInitShape<typeof CallUpdateSchema>['kind'][];

/** A client of an engine that answers each call by a script, and every other request by `unary`. */
async function connect(script: Script, more: Omit<PeerHandlers, 'streamCalls'> = {}) {
  const seen: CallToolRequest[] = [];
  peer = await startEnginePeer({
    ...more,
    streamCalls(stream) {
      stream.on('data', (request) => {
        for (const call of request.calls) {
          seen.push(call);
          const updates = script(call).map((kind) => ({ callId: call.callId, kind }));
          stream.write(
            create(StreamCallsResponseSchema, { updates } as MessageInitShape<
              typeof StreamCallsResponseSchema
            >),
          );
        }
      });
      stream.on('end', () => stream.end());
      stream.on('error', () => undefined);
    },
  });
  client = createClient({ address: peer.address });
  return { client, seen };
}

/** The last update of a call that took two attempts. */
function ended(outcome: MessageInitShape<typeof CallToolResponseSchema>['outcome']) {
  const value = create(CallToolResponseSchema, { callId: 'c', attempts: 2, ...(outcome && { outcome }) });
  return { case: 'finished' as const, value };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

const weather = defineTool({
  name: 'weather',
  description: 'The weather.',
  schema: z.object({ city: z.string() }),
  outputSchema: z.object({ celsius: z.number() }),
  execute: () => ({ celsius: 21 }),
});

describe('a client over grpc-js', () => {
  it('calls a defined tool and gives its value', async () => {
    const { client, seen } = await connect(() => [
      ended({
        case: 'result',
        value: {
          content: [{ kind: { case: 'text', value: { text: 'warm' } } }],
          structuredJson: '{"celsius":21}',
        },
      }),
    ]);
    const answer = await client.call(weather, { city: 'Tokyo' });
    expect(answer).toMatchObject({ ok: true, attempts: 2, value: { celsius: 21 }, text: 'warm' });
    expect(seen).toMatchObject([{ name: 'weather', arguments: '{"city":"Tokyo"}', allUpdates: false }]);
    expect(seen[0]?.callId).not.toBe('');
  });

  it('1.1: sends raw arguments byte for byte', async () => {
    const { client, seen } = await connect(() => [ended({ case: 'result', value: {} })]);
    await client.call('weather', { rawArguments: '{"id": 9007199254740993' }, { callId: 'mine' });
    await client.call('weather');
    expect(seen).toMatchObject([
      { arguments: '{"id": 9007199254740993', callId: 'mine' },
      { arguments: '{}' },
    ]);
  });

  it('4.8: a failure is an outcome, and so is a result that is an error', async () => {
    const { client } = await connect(({ name }) => [
      name === 'fails'
        ? ended({
            case: 'error',
            value: {
              code: 'run_timeout',
              message: 'It took too long.',
              detailJson: '{"ms":1}',
              mayHaveTakenEffect: true,
              retryAfter: { seconds: 2n },
            },
          })
        : ended({
            case: 'result',
            value: { isError: true, content: [{ kind: { case: 'text', value: { text: 'no station' } } }] },
          }),
    ]);
    expect(await client.call('fails')).toMatchObject({
      ok: false,
      error: {
        code: 'run_timeout',
        message: 'It took too long.',
        detail: { ms: 1 },
        mayHaveTakenEffect: true,
        retryAfterMs: 2_000,
      },
    });
    expect(await client.call('reports')).toMatchObject({
      ok: false,
      error: { code: 'tool_error', message: 'no station' },
      result: { isError: true },
    });
  });

  it('a refusal is thrown', async () => {
    const { client } = await connect(() => [
      { case: 'refused', value: { code: 'overloaded', message: 'Later.', retryable: true } },
    ]);
    await expect(client.call('weather')).rejects.toMatchObject({
      name: 'SpindleError',
      reason: 'overloaded',
    });
  });

  it('streams what happens to a call', async () => {
    const { client, seen } = await connect(() => [
      { case: 'queued', value: create(CallQueuedSchema) },
      { case: 'started', value: { attempt: 1, workerName: 'w' } },
      { case: 'progress', value: { completed: 1 } },
      { case: 'retrying', value: { attempt: 1, error: { code: 'busy' }, backoff: { seconds: 1n } } },
      { case: 'open', value: { deadline: { seconds: 5n } } },
      { case: 'interrupted', value: { interruptId: 'i', reason: 'confirm' } },
      ended({ case: 'result', value: { structuredJson: '{"celsius":21}' } }),
    ]);
    const events: CallEvent[] = [];
    for await (const event of client.stream(weather, { city: 'Tokyo' })) events.push(event);
    expect(events).toMatchObject([
      { kind: 'queued' },
      { kind: 'started', attempt: 1, workerName: 'w' },
      { kind: 'progress', completed: 1, total: undefined },
      { kind: 'retrying', error: { code: 'busy' }, backoffMs: 1_000 },
      { kind: 'open', deadline: new Date(5_000) },
      { kind: 'interrupted', interruptId: 'i', reason: 'confirm' },
      { kind: 'finished', result: { ok: true, value: { celsius: 21 } } },
    ]);
    expect(seen).toMatchObject([{ allUpdates: true }]);
  });

  it('4.10: a signal and a time end the wait', async () => {
    const { client } = await connect(() => []);
    const controller = new AbortController();
    const aborted = client.call('weather', {}, { signal: controller.signal });
    controller.abort(new Error('never mind'));
    await expect(aborted).rejects.toThrow('never mind');
    await expect(client.call('weather', {}, { signal: controller.signal })).rejects.toThrow('never mind');
    await expect(client.call('weather', {}, { timeoutMs: 1, callId: 'slow' })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      metadata: { call_id: 'slow' },
    });
    const events = client.stream('weather', {}, { timeoutMs: 1 });
    await expect(events.next()).rejects.toMatchObject({ reason: 'wait_timeout' });
  });

  it('arguments that are no JSON are refused with their path', async () => {
    const { client } = await connect(() => []);
    const args = { city: Number.NaN };
    await expect(client.call('weather', args)).rejects.toThrow('the arguments cannot be JSON: /city is NaN');
  });

  it('makes the other requests', async () => {
    const requests: [string, unknown][] = [];
    const { client } = await connect(() => [], {
      unary(method, request) {
        requests.push([method, request]);
        const { pageToken } = request as { pageToken?: string };
        switch (method) {
          case 'listTools':
            return {
              tools: [{ tool: { name: `t${pageToken}` } }],
              nextPageToken: pageToken === '' ? '2' : '',
            };
          case 'listCalls':
            return { calls: [{ callId: `c${pageToken}` }], nextPageToken: pageToken === '' ? '2' : '' };
          case 'searchTools':
            return { tools: [{ name: 'weather' }], leftOut: 3 };
          case 'settleCall':
            return { verdict: AnswerVerdict.RECORDED };
          default:
            return { call: { callId: 'c', name: 'weather' } };
        }
      },
      stream(method) {
        return method === 'readBlob'
          ? [{ data: Uint8Array.of(1) }, { data: Uint8Array.of(2) }]
          : [{ update: { callId: 'c', kind: { case: 'queued', value: {} } } }];
      },
    });
    expect((await client.tools()).map(({ tool }) => tool?.name)).toEqual(['t', 't2']);
    expect((await collect(client.list({ name: 'weather' }))).map(({ callId }) => callId)).toEqual([
      'c',
      'c2',
    ]);
    expect(await client.search('rain', { maxMatches: 1 })).toMatchObject({
      leftOut: 3,
      tools: [{ name: 'weather' }],
    });
    expect(await client.start('weather', { city: 'Tokyo' })).toMatchObject({ callId: 'c' });
    expect(await client.get('c')).toMatchObject({ name: 'weather' });
    expect(await client.cancel('c', { reason: 'enough' })).toMatchObject({ callId: 'c' });
    expect(await client.settle('c', { result: { ok: 1 } }, { attempt: 2 })).toBe('recorded');
    expect(await client.settle('c', { error: new ToolError('no', { code: 'denied' }) })).toBe('recorded');
    expect((await collect(client.readBlob('blob:x'))).map((bytes) => [...bytes])).toEqual([[1], [2]]);
    expect(await collect(client.watch('c'))).toMatchObject([{ kind: 'queued' }]);
    expect(
      requests.filter(([method]) => method === 'settleCall').map(([, request]) => request),
    ).toMatchObject([
      { callId: 'c', attempt: 2, outcome: { case: 'result', value: { structuredJson: '{"ok":1}' } } },
      { outcome: { case: 'error', value: { code: 'denied', message: 'no' } } },
    ]);
    expect(requests.find(([method]) => method === 'startCall')?.[1]).toMatchObject({
      call: { name: 'weather', arguments: '{"city":"Tokyo"}', callId: expect.stringMatching(/.{20}/) },
    });
  });

  it('4.8: reads the reason of a status', async () => {
    const { client } = await connect(() => [], {
      unary() {
        const metadata = new Metadata();
        const info = create(ErrorInfoSchema, {
          reason: 'call_not_found',
          domain: 'spindle.v1',
          metadata: { call_id: 'c' },
        });
        const packed = toBinary(
          StatusSchema,
          create(StatusSchema, { code: 5, message: 'none', details: [anyPack(ErrorInfoSchema, info)] }),
        );
        metadata.set('grpc-status-details-bin', Buffer.from(packed));
        throw Object.assign(new Error('none'), { code: 5, details: 'There is no call c.', metadata });
      },
    });
    const error: unknown = await client.get('c').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SpindleError);
    expect(error).toMatchObject({
      code: 'NOT_FOUND',
      reason: 'call_not_found',
      message: 'There is no call c.',
      metadata: { call_id: 'c' },
    });
  });

  it('an engine that is not there is a SpindleError', async () => {
    await using nobody = createClient({ address: '127.0.0.1:1', unavailableAfterMs: 1 });
    await expect(nobody.call('weather')).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      reason: 'unavailable',
    });
    await expect(nobody.get('c')).rejects.toBeInstanceOf(SpindleError);
  });
});
