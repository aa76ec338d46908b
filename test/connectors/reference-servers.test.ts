import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ConnectorOptions } from '../../src/main.ts';
import { connectMcp } from '../gateway/gateway.ts';
import { connectedEngine, httpConnector, stdioConnector } from './connected-engine.ts';

/** The program of a reference server, as its package installs it. */
function program(name: string): string {
  return new URL(`../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url).pathname;
}

async function folder(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'spindle-reference-')));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const EVERYTHING: readonly (readonly [string, () => Promise<ConnectorOptions>])[] = [
  ['stdio', async () => stdioConnector([program('server-everything'), 'stdio'])],
  [
    'streamable HTTP',
    async () => {
      const port = await freePort();
      const server = spawn(process.execPath, [program('server-everything'), 'streamableHttp'], {
        env: { ...process.env, PORT: String(port) },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      onTestFinished(() => void server.kill('SIGKILL'));
      for await (const line of createInterface({ input: server.stderr }))
        if (line.includes(String(port))) break;
      server.stderr.resume();
      return httpConnector(`http://127.0.0.1:${port}/mcp`);
    },
  ],
];

describe.each(EVERYTHING)('the reference server "everything" over %s', (_, connector) => {
  it('offers its tools, and answers calls of them', async () => {
    const { client } = await connectedEngine({ every: await connector() });
    expect(await client.call('every__get-sum', { a: 19, b: 23 })).toMatchObject({
      ok: true,
      text: 'The sum of 19 and 23 is 42.',
    });
    expect(await client.call('every__get-structured-content', { location: 'New York' })).toMatchObject({
      ok: true,
      value: {
        temperature: expect.any(Number),
        conditions: expect.any(String),
        humidity: expect.any(Number),
      },
    });
    const kinds = async (tool: string, args: { readonly count?: number }): Promise<unknown> => {
      const { result } = await client.call(tool, args);
      return result?.content.map(({ kind }) => kind.case);
    };
    expect(await kinds('every__get-tiny-image', {})).toEqual(['text', 'blob', 'text']);
    expect(await kinds('every__get-resource-links', { count: 2 })).toContain('resourceLink');
    const served = await client.tools();
    expect(served.every(({ connectorId, workers }) => connectorId === 'every' && workers === 1)).toBe(true);
    expect(served.length).toBeGreaterThan(8);
  });

  it('reports its progress', async () => {
    const { client } = await connectedEngine({ every: await connector() });
    const seen: unknown[] = [];
    const call = client.stream('every__trigger-long-running-operation', { duration: 0.3, steps: 3 });
    for await (const event of call) seen.push(event.kind === 'progress' ? event.total : event.kind);
    expect(seen).toContain(3);
    expect(seen.at(-1)).toBe('finished');
  });

  it('is reached through the gateway by an MCP client, from end to end', async () => {
    const { client, engine } = await connectedEngine({ every: await connector() });
    await client.call('every__echo', { message: 'known now' });
    const mcp = await connectMcp(engine.url);
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }) => name)).toContain('every__get-structured-content');
    const answer = await mcp.client.callTool({
      name: 'every__get-structured-content',
      arguments: { location: 'Chicago' },
    });
    expect(answer.structuredContent).toMatchObject({ conditions: expect.any(String) });
    const { content } = await mcp.client.callTool({ name: 'every__get-tiny-image', arguments: {} });
    expect(content).toMatchObject([
      { type: 'text' },
      { type: 'image', mimeType: 'image/png' },
      { type: 'text' },
    ]);
  });
});

describe('the reference server "filesystem"', () => {
  it('reads what it may, and says what it may not', async () => {
    const path = await folder();
    await writeFile(join(path, 'note.txt'), 'a note');
    const { client } = await connectedEngine({ files: stdioConnector([program('server-filesystem'), path]) });
    expect(await client.call('files__read_text_file', { path: join(path, 'note.txt') })).toMatchObject({
      ok: true,
      text: 'a note',
    });
    expect(await client.call('files__read_text_file', { path: '/etc/passwd' })).toMatchObject({
      ok: false,
      error: { code: 'tool_error', message: expect.stringMatching(/denied/) },
    });
  });
});

describe('the reference server "memory"', () => {
  it('remembers between calls', async () => {
    const path = await folder();
    const { client } = await connectedEngine({
      memory: {
        transport: {
          kind: 'stdio',
          command: process.execPath,
          args: [program('server-memory')],
          environment: { MEMORY_FILE_PATH: join(path, 'memory.json') },
        },
      },
    });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }];
    expect(await client.call('memory__create_entities', { entities })).toMatchObject({ ok: true });
    expect(await client.call('memory__search_nodes', { query: 'programs' })).toMatchObject({
      ok: true,
      value: { entities: [{ name: 'Ada' }] },
    });
  });
});
