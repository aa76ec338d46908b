import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { MAX_GATEWAY_TOOLS } from '../../src/core/limits.ts';
import {
  audio,
  defineTool,
  image,
  resource,
  resourceLink,
  result,
  type Tool,
  ToolError,
  text,
} from '../../src/sdk/worker/index.ts';
import { connectMcp, engineWith, serve, spindleClient } from './gateway.ts';

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  schema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  annotations: { title: 'Addition', readOnly: true, idempotent: true },
  execute: ({ a, b }) => ({ sum: a + b }),
});

const PIXEL = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);

const blocks = defineTool({
  name: 'blocks',
  description: 'One block of each kind.',
  execute: () => [
    text('a text'),
    image(PIXEL, 'image/png'),
    audio(PIXEL, 'audio/wav'),
    resource('file:///a', 'inside', 'text/x'),
    resource('file:///b', new Uint8Array([0, 1, 2])),
    resourceLink('file:///c', { name: 'c' }),
  ],
});

/** Runs until its gate opens or its call is stopped, which it tells. */
function gated() {
  const gate = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<string>();
  const tool = defineTool({
    name: 'gated',
    description: 'Waits.',
    async execute(_, { signal, progress }) {
      progress({ completed: 1, total: 2, activity: 'halfway' });
      begun.resolve();
      signal.addEventListener('abort', () => stopped.resolve('stopped'));
      return await Promise.race([gate.promise, stopped.promise]);
    },
  });
  return { tool, open: gate.resolve, begun: begun.promise, stopped: stopped.promise };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

describe('an MCP client at the gateway', () => {
  it('lists tools with schemas, titles and annotations', async () => {
    const engine = await engineWith([add]);
    const { client } = await connectMcp(engine.url);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        name: 'add',
        title: 'Addition',
        description: 'Adds two numbers.',
        inputSchema: { type: 'object', required: ['a', 'b'] },
        outputSchema: { type: 'object', required: ['sum'] },
        annotations: { readOnlyHint: true, idempotentHint: true },
      },
    ]);
  });

  it('4.12: makes an ordinary direct call, with its id and record', async () => {
    const engine = await engineWith([add]);
    const { client } = await connectMcp(engine.url);
    await client.listTools();
    const answer = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
    expect(answer.structuredContent).toEqual({ sum: 3 });
    expect(answer.content).toEqual([{ type: 'text', text: '{"sum":3}' }]);
    const callId = String(answer._meta?.['dev.spindle/call_id']);
    expect(await spindleClient(engine.address).get(callId)).toMatchObject({
      name: 'add',
      arguments: '{"a":1,"b":2}',
      outcome: { case: 'result' },
    });
  });

  it('reads every kind of block', async () => {
    const engine = await engineWith([blocks]);
    const { client } = await connectMcp(engine.url);
    const { content } = await client.callTool({ name: 'blocks' });
    const data = Buffer.from(PIXEL).toString('base64');
    expect(content).toEqual([
      { type: 'text', text: 'a text' },
      { type: 'image', data, mimeType: 'image/png' },
      { type: 'audio', data, mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///a', text: 'inside', mimeType: 'text/x' } },
      { type: 'resource', resource: { uri: 'file:///b', blob: 'AAEC' } },
      { type: 'resource_link', uri: 'file:///c', name: 'c' },
    ]);
  });

  it('3.4: gets the beginning of a long text, and reads the whole as a resource', async () => {
    const long = 'ä'.repeat(200_000);
    const engine = await engineWith([defineTool({ name: 'long', description: '', execute: () => long })]);
    const { client } = await connectMcp(engine.url);
    const { content } = await client.callTool({ name: 'long' });
    expect(content).toMatchObject([
      { type: 'text', text: expect.stringMatching(/^ä{16384}\n\(The text has 400000 bytes/) },
      { type: 'resource_link', size: 400_000, uri: expect.stringMatching(/^blob:sha256-/) },
    ]);
    const [, link] = content as [unknown, { uri: string }];
    const { contents } = await client.readResource({ uri: link.uri });
    expect(contents).toEqual([{ uri: link.uri, blob: Buffer.from(long).toString('base64') }]);
  });

  it('6.7: reads the failure of a tool as a result', async () => {
    const failing = defineTool({
      name: 'failing',
      description: '',
      execute: () => {
        throw new ToolError('out of tea', { code: 'no_tea' });
      },
    });
    const own = defineTool({
      name: 'own',
      description: '',
      execute: () => result({ content: 'broken', isError: true }),
    });
    const engine = await engineWith([failing, own, add]);
    const { client } = await connectMcp(engine.url);
    expect(await client.callTool({ name: 'failing' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'out of tea' }],
      _meta: { 'dev.spindle/code': 'no_tea', 'dev.spindle/may_have_taken_effect': false },
    });
    expect(await client.callTool({ name: 'own' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'broken' }],
    });
    expect(await client.callTool({ name: 'add', arguments: { a: 'x' } })).toMatchObject({
      isError: true,
      _meta: { 'dev.spindle/code': 'invalid_arguments' },
    });
  });

  it('4.11: is told of an unknown tool by an error of the protocol, with the nearest names', async () => {
    const engine = await engineWith([add], { resumeGraceMs: 1 });
    const { client } = await connectMcp(engine.url);
    await expect(client.callTool({ name: 'ad' })).rejects.toThrow(/No tool is called ad. Nearest: add/);
  });

  it('gets progress, and 4.10: stops the call by cancelling its request', async () => {
    const { tool, begun, stopped } = gated();
    const engine = await engineWith([tool]);
    const { client } = await connectMcp(engine.url);
    const notes: unknown[] = [];
    const seen = Promise.withResolvers<void>();
    const giveUp = new AbortController();
    const call = client.callTool({ name: 'gated' }, undefined, {
      signal: giveUp.signal,
      onprogress: (note) => {
        notes.push(note);
        seen.resolve();
      },
    });
    await begun;
    await seen.promise;
    giveUp.abort('enough');
    await expect(call).rejects.toThrow('enough');
    expect(await stopped).toBe('stopped');
    expect(notes).toEqual([{ progress: 1, total: 2, message: 'halfway' }]);
  });

  it('4.10: ends its wait, and no call, by going away', async () => {
    const { tool, begun, open } = gated();
    const engine = await engineWith([tool]);
    const { client } = await connectMcp(engine.url);
    const call = client.callTool({ name: 'gated' });
    call.catch(() => undefined);
    await begun;
    await client.close();
    await expect(call).rejects.toThrow();
    open('done');
    const caller = spindleClient(engine.address);
    const [recorded] = await collect(caller.list());
    const events = await collect(caller.watch(recorded?.callId ?? ''));
    expect(events.at(-1)).toMatchObject({ kind: 'finished', result: { ok: true, text: 'done' } });
  });

  it('8.2: puts the trace of the request on the call', async () => {
    const seen = Promise.withResolvers<Readonly<Record<string, string>>>();
    const traced = defineTool({
      name: 'traced',
      description: '',
      execute(_, { traceContext }) {
        seen.resolve(traceContext);
        return 'ok';
      },
    });
    const engine = await engineWith([traced]);
    const { client } = await connectMcp(engine.url);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await client.callTool({ name: 'traced', _meta: { traceparent } });
    expect(await seen.promise).toMatchObject({ traceparent });
  });

  it('hears when workers come, change their tools, and go', async () => {
    const engine = await engineWith([add]);
    const { client } = await connectMcp(engine.url);
    let changed = Promise.withResolvers<void>();
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve());
    const names = async (): Promise<string[]> => (await client.listTools()).tools.map(({ name }) => name);
    const other = await serve(engine.address, [blocks]);
    await changed.promise;
    expect(await names()).toEqual(['add', 'blocks']);
    changed = Promise.withResolvers();
    other.setTools([]);
    await changed.promise;
    expect(await names()).toEqual(['add']);
    changed = Promise.withResolvers();
    await engine.serving.stop();
    await changed.promise;
    expect(await names()).toEqual([]);
  });

  it('6.8: finds the tools of a large catalog with tool_search, and calls them with call_tool', async () => {
    const many = Array.from({ length: MAX_GATEWAY_TOOLS }, (_, index) =>
      defineTool({ name: `tool_${index}`, description: 'One of many.', execute: () => `answer ${index}` }),
    );
    const engine = await engineWith([...many, add]);
    const { client } = await connectMcp(engine.url);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['tool_search', 'call_tool']);
    const found = await client.callTool({ name: 'tool_search', arguments: { query: 'adds numbers' } });
    const [block] = found.content as [{ text: string }];
    expect(JSON.parse(block.text)).toMatchObject({
      tools: [{ name: 'add', input_schema: { required: ['a', 'b'] } }],
    });
    const called = await client.callTool({
      name: 'call_tool',
      arguments: { name: 'add', arguments: { a: 2, b: 3 } },
    });
    expect(called.structuredContent).toEqual({ sum: 5 });
    const callId = String(called._meta?.['dev.spindle/call_id']);
    expect((await spindleClient(engine.address).get(callId)).name).toBe('add');
    const direct = await client.callTool({ name: 'tool_7' });
    expect(direct.content).toEqual([{ type: 'text', text: 'answer 7' }]);
  });

  it.each([
    ['tool_search', { query: 3 }, /query has to be a string/],
    ['tool_search', { query: '', max_matches: 0 }, /max_matches/],
    ['call_tool', {}, /name has to be the name/],
    ['call_tool', { name: 'call_tool' }, /cannot be called through call_tool/],
    ['call_tool', { name: 'add', arguments: [] }, /arguments has to be an object/],
  ])('%s refuses %o in words for a model', async (name, args, said) => {
    const engine = await engineWith([]);
    const { client } = await connectMcp(engine.url);
    const { isError, content } = await client.callTool({ name, arguments: args });
    expect(isError).toBe(true);
    expect(content).toMatchObject([{ text: expect.stringMatching(said) }]);
  });

  it('gets its result by resuming, where the connection breaks in the middle of a call', async () => {
    const { tool, begun, open } = gated();
    const engine = await engineWith([tool]);
    const { client, transport } = await connectMcp(engine.url);
    const headers = {
      'content-type': 'application/json',
      'mcp-session-id': transport.sessionId ?? '',
      'mcp-protocol-version': transport.protocolVersion ?? '',
    };
    const broken = new AbortController();
    const message = { jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'gated' } };
    const called = await fetch(`${engine.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, accept: 'application/json, text/event-stream' },
      body: JSON.stringify(message),
      signal: broken.signal,
    });
    const first = await called.body?.getReader().read();
    const [, eventId = ''] = /^id: (.*)$/m.exec(new TextDecoder().decode(first?.value)) ?? [];
    await begun;
    broken.abort();
    // The engine has noticed once another request of the session has been answered behind it.
    let resumed: Response;
    do {
      await client.ping();
      resumed = await fetch(`${engine.url}/mcp`, {
        headers: { ...headers, accept: 'text/event-stream', 'last-event-id': eventId },
      });
    } while (resumed.status === 409);
    expect(resumed.status).toBe(200);
    open('after the break');
    expect(await resumed.text()).toContain('after the break');
  });
});

describe('sessions of the gateway', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

  async function post(url: string, message: unknown, more: Record<string, string> = {}): Promise<Response> {
    const body = typeof message === 'string' ? message : JSON.stringify(message);
    return fetch(`${url}/mcp`, { method: 'POST', headers: { ...headers, ...more }, body });
  }

  it('begin with initialize, and end with DELETE', async () => {
    const engine = await engineWith([]);
    const opened = await post(engine.url, initialize);
    const id = opened.headers.get('mcp-session-id') ?? '';
    expect(opened.status).toBe(200);
    expect(id).toMatch(/^[\w-]{22}$/);
    await opened.text();
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    expect((await post(engine.url, ping, { 'mcp-session-id': id })).status).toBe(200);
    const gone = await fetch(`${engine.url}/mcp`, { method: 'DELETE', headers: { 'mcp-session-id': id } });
    expect(gone.status).toBe(200);
    expect((await post(engine.url, ping, { 'mcp-session-id': id })).status).toBe(404);
  });

  it.each([
    ['another message first', { jsonrpc: '2.0', id: 1, method: 'ping' }, {}, 400],
    [
      'a session that nobody knows',
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { 'mcp-session-id': 'x' },
      404,
    ],
    ['no JSON', '{', {}, 400],
    ['a body of another kind', initialize, { 'content-type': 'text/plain' }, 415],
    ['a page from elsewhere', initialize, { origin: 'https://evil.example' }, 403],
    ['an origin that is none', initialize, { origin: 'null' }, 403],
    ['a page of this machine', initialize, { origin: 'http://localhost:6274' }, 200],
  ])('answer %s with a status', async (_, message, more, status) => {
    const engine = await engineWith([]);
    const response = await post(engine.url, message, more);
    expect(response.status).toBe(status);
    await response.body?.cancel();
  });

  it('end with the engine, which does not wait for streams of notifications', async () => {
    const engine = await engineWith([]);
    const { client } = await connectMcp(engine.url);
    await client.ping();
    await engine.running.stop(60_000);
    await expect(client.ping()).rejects.toThrow();
  });

  it('keep nothing of what is no request', async () => {
    const engine = await engineWith([]);
    const response = await fetch(`${engine.url}/mcp`);
    expect(response.status).toBe(400);
    onTestFinished(() => response.body?.cancel());
  });
});

describe('schemas at the gateway', () => {
  it('are in the form that MCP asks for, whatever a worker declares', async () => {
    const tool = (name: string, schemas: { input?: string; output?: string }) => ({
      name,
      inputSchemaJson: schemas.input ?? '',
      outputSchemaJson: schemas.output ?? '',
    });
    const engine = await engineWith([] as Tool[]);
    await engine.worker([
      tool('none', {}),
      tool('true', { input: 'true' }),
      tool('boolean', { input: '{"type":"object","properties":{"a":true,"b":false}}' }),
      tool('union', { input: '{"anyOf":[{"type":"object"},{"type":"string"}]}' }),
      tool('text', { output: '{"type":"string"}' }),
    ]);
    const { client } = await connectMcp(engine.url);
    const { tools } = await client.listTools();
    expect(Object.fromEntries(tools.map(({ name, inputSchema }) => [name, inputSchema]))).toEqual({
      none: { type: 'object' },
      true: { type: 'object' },
      boolean: { type: 'object', properties: { a: {}, b: { not: {} } } },
      union: { type: 'object', anyOf: [{ type: 'object' }, { type: 'string' }] },
      text: { type: 'object' },
    });
    expect(tools.every(({ outputSchema }) => outputSchema === undefined)).toBe(true);
  });
});
