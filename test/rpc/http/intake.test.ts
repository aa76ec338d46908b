import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { CallToolRequestSchema, CallToolResponseSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { accepted } from '../../../src/core/refusal.ts';
import type { RequestContext } from '../../../src/rpc/handlers.ts';
import { post, serve } from '../serve.ts';

const echo = {
  callTool: async (request: { name: string }) =>
    accepted(create(CallToolResponseSchema, { callId: request.name })),
};

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
    [
      '1.1: arguments that are no text',
      '{"arguments":{"a":1}}',
      'arguments has an unknown key or a value of another type. It is a string that holds JSON',
    ],
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
});
