import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { ToolService } from '../../gen/spindle/v1/tool_service_pb.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { answerAll } from './holding.ts';
import { textResult } from './raw-worker.ts';

let engine: TestEngine;
let serving: Promise<void>[];
beforeAll(async () => {
  engine = await openEngine();
  const worker = await engine.worker([{ name: 'echo', description: 'Says it again' }]);
  const other = await engine.worker([{ name: 'later' }]);
  serving = [answerAll(worker, textResult('echoed')), answerAll(other, { case: 'toolDefer', value: {} })];
});
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await Promise.all(serving);
});

const post = async (name: string, body: string | Uint8Array, contentType = 'application/json') => {
  const response = await fetch(`${engine.url}/spindle.v1.ToolService/${name}`, {
    method: 'POST',
    headers: { 'content-type': contentType },
    body: Buffer.from(body),
  });
  return { status: response.status, text: await response.text() };
};

describe('the HTTP port', () => {
  it.each([
    [
      'Connect and protobuf',
      () => createConnectTransport({ baseUrl: engine.url, httpVersion: '1.1', useBinaryFormat: true }),
    ],
    [
      'Connect and JSON',
      () => createConnectTransport({ baseUrl: engine.url, httpVersion: '1.1', useBinaryFormat: false }),
    ],
    ['gRPC-Web', () => createGrpcWebTransport({ baseUrl: engine.url, httpVersion: '1.1' })],
  ])('serves every method but StreamCalls by %s', async (form, transport) => {
    const client = createClient(ToolService, transport());
    const id = form.replaceAll(' ', '-');
    expect((await client.listTools({ names: ['echo'] })).tools).toHaveLength(1);
    expect((await client.searchTools({ query: 'again' })).tools.map(({ name }) => name)).toEqual(['echo']);
    const called = await client.callTool({ name: 'echo', arguments: '{}', callId: id });
    expect(called.outcome.value).toMatchObject({ content: [{ kind: { value: { text: 'echoed' } } }] });
    expect((await client.getCall({ callId: id })).call?.outcome).toEqual(called.outcome);
    const updates = [];
    for await (const { update } of client.streamCallTool({ call: { name: 'echo', callId: `${id}-s` } }))
      updates.push(update?.kind.case);
    expect(updates).toEqual(['queued', 'started', 'finished']);
    const watched = [];
    for await (const { update } of client.watchCall({ callId: id })) watched.push(update?.kind.case);
    expect(watched).toEqual(['finished']);

    await client.startCall({ call: { name: 'later', callId: `${id}-l` } });
    for await (const { update } of client.watchCall({ callId: `${id}-l` }))
      if (update?.kind.case === 'open') break;
    const outcome = {
      case: 'result' as const,
      value: {
        content: [
          { kind: { case: 'image' as const, value: { data: Buffer.from(id), mimeType: 'image/png' } } },
        ],
      },
    };
    expect((await client.settleCall({ callId: `${id}-l`, outcome })).verdict).toBe(AnswerVerdict.RECORDED);
    const { call } = await client.cancelCall({ callId: `${id}-l` });
    const [block] = call?.outcome.case === 'result' ? call.outcome.value.content : [];
    const bytes = [];
    for await (const { data } of client.readBlob({
      uri: block?.kind.case === 'blob' ? block.kind.value.uri : '',
    }))
      bytes.push(data);
    expect(Buffer.concat(bytes).toString()).toBe(id);
    expect((await client.listCalls({ name: 'later' })).calls.map(({ callId }) => callId)).toContain(
      `${id}-l`,
    );
  });

  it('takes plain JSON, as curl sends it', async () => {
    const { status, text } = await post('CallTool', '{"name":"echo","arguments":"{}","callId":"curl"}');
    expect([status, JSON.parse(text)]).toEqual([
      200,
      { callId: 'curl', attempts: 1, result: { content: [{ text: { text: 'echoed' } }] } },
    ]);
  });

  it.each<[string, string, string | Uint8Array, string, number, string]>([
    [
      'JSON with an unknown field',
      'CallTool',
      '{"nmae":"echo"}',
      'application/json',
      400,
      'invalid_argument',
    ],
    [
      'JSON with a value of another type',
      'CallTool',
      '{"name":5}',
      'application/json',
      400,
      'invalid_argument',
    ],
    ['JSON that is cut', 'CallTool', '{"name":', 'application/json', 400, 'invalid_argument'],
    [
      'arguments that are an object and no text',
      'CallTool',
      '{"name":"echo","arguments":{}}',
      'application/json',
      400,
      'invalid_argument',
    ],
    ['JSON nested without end', 'CallTool', '['.repeat(100_000), 'application/json', 400, 'invalid_argument'],
    [
      'bytes that are no protobuf',
      'CallTool',
      new Uint8Array([255]),
      'application/proto',
      400,
      'invalid_argument',
    ],
    ['an empty name', 'CallTool', '{}', 'application/json', 400, 'invalid_argument'],
    ['an unknown call', 'GetCall', '{"callId":"never-was"}', 'application/json', 404, 'not_found'],
    [
      'a duration that is none',
      'CallTool',
      '{"name":"echo","retry":{"runTimeout":"soon"}}',
      'application/json',
      400,
      'invalid_argument',
    ],
    ['another content type', 'CallTool', 'name=echo', 'application/x-www-form-urlencoded', 415, ''],
    ['XML', 'CallTool', '<a/>', 'text/xml', 415, ''],
    [
      'five megabytes',
      'CallTool',
      `{"name":"echo","arguments":"${'x'.repeat(5_000_000)}"}`,
      'application/json',
      429,
      'resource_exhausted',
    ],
    ['an unknown method', 'CallNothing', '{}', 'application/json', 404, 'not_found'],
    ['both directions', 'StreamCalls', '{}', 'application/connect+json', 200, 'unimplemented'],
  ])('4.8: %s gets a clear status, and the next call works', async (_, name, body, type, status, code) => {
    const answer = await post(name, body, type);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(code);
    expect(answer.text.length).toBeLessThan(2_000);
    expect((await post('CallTool', '{"name":"echo"}')).status).toBe(200);
  });
});
