import { resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineTool, image, type Tool, ToolError } from '../../src/sdk/worker/index.ts';
import { engineWith, serve, spindleClient } from '../gateway/gateway.ts';
import { spindle } from './spindle.ts';

const SPINDLE = resolve(import.meta.dirname, '../../src/cli/spindle.ts');

/** An MCP client that has started `spindle mcp` by itself. */
async function connectStdio(address: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const args = [SPINDLE, 'mcp', '--address', address];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  onTestFinished(() => client.close());
  return client;
}

async function clientFor(tools: readonly Tool[]) {
  const engine = await engineWith(tools);
  return { engine, client: await connectStdio(engine.address) };
}

/** Adds once its progress has been seen: a client drops what comes together with the result. */
function adding() {
  const seen = Promise.withResolvers<void>();
  const tool = defineTool({
    name: 'add',
    description: 'Adds.',
    schema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    execute: async ({ a, b }, { progress }) => {
      progress({ completed: 1, total: 1, activity: 'adding' });
      await seen.promise;
      return { sum: a + b };
    },
  });
  return { tool, seen: seen.resolve };
}

describe('spindle mcp', () => {
  it('lists and calls tools, with progress and structured results', async () => {
    const { tool, seen } = adding();
    const { engine, client } = await clientFor([tool]);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add']);
    const notes: unknown[] = [];
    const answer = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } }, undefined, {
      onprogress: (note) => {
        notes.push(note);
        seen();
      },
    });
    expect(answer.structuredContent).toEqual({ sum: 3 });
    expect(notes).toEqual([{ progress: 1, total: 1, message: 'adding' }]);
    const recorded = await spindleClient(engine.address).get(String(answer._meta?.['dev.spindle/call_id']));
    expect(recorded.name).toBe('add');
  });

  it('gives failures and pictures as results', async () => {
    const { client } = await clientFor([
      defineTool({
        name: 'picture',
        description: '',
        execute: () => image(new Uint8Array([1, 2]), 'image/png'),
      }),
      defineTool({
        name: 'failing',
        description: '',
        execute: () => {
          throw new ToolError('no', { code: 'nope' });
        },
      }),
    ]);
    expect((await client.callTool({ name: 'picture' })).content).toEqual([
      { type: 'image', data: 'AQI=', mimeType: 'image/png' },
    ]);
    expect(await client.callTool({ name: 'failing' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'no' }],
      _meta: { 'dev.spindle/code': 'nope' },
    });
  });

  it('4.10: cancels the call whose request is cancelled', async () => {
    const begun = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<string>();
    const waits = defineTool({
      name: 'waits',
      description: '',
      execute(_, { signal }) {
        signal.addEventListener('abort', () => stopped.resolve('stopped'));
        begun.resolve();
        return stopped.promise;
      },
    });
    const { client } = await clientFor([waits]);
    const giveUp = new AbortController();
    const call = client.callTool({ name: 'waits' }, undefined, { signal: giveUp.signal });
    await begun.promise;
    giveUp.abort('enough');
    await expect(call).rejects.toThrow('enough');
    expect(await stopped.promise).toBe('stopped');
  });

  it('tells its client when the catalog has changed', async () => {
    const { engine, client } = await clientFor([]);
    const changed = Promise.withResolvers<void>();
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => changed.resolve());
    await client.listTools();
    await serve(engine.address, [adding().tool]);
    await changed.promise;
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['add']);
  });

  it('ends with its standard input, and writes nothing of its own to standard output', async () => {
    const engine = await engineWith([]);
    const ended = await spindle(['mcp', '--address', engine.address], { stdin: '' });
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
