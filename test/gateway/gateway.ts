import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { onTestFinished } from 'vitest';
import type { EngineOptions } from '../../src/main.ts';
import { createClient, type Client as SpindleClient } from '../../src/sdk/index.ts';
import { createWorker, type Tool, type Worker } from '../../src/sdk/worker/index.ts';
import { openEngine, type TestEngine } from '../e2e/engine.ts';

/** An engine with a worker for these tools, which lasts as long as the test. */
export async function engineWith(
  tools: readonly Tool[],
  options: EngineOptions = {},
): Promise<TestEngine & { readonly worker: TestEngine['worker']; readonly serving: Worker }> {
  const engine = await openEngine(options);
  onTestFinished(() => engine[Symbol.asyncDispose]());
  const serving = await serve(engine.address, tools);
  return { ...engine, serving };
}

/** A client of the engine's own, to read what was recorded. */
export function spindleClient(address: string): SpindleClient {
  const client = createClient({ address });
  onTestFinished(() => client.close());
  return client;
}

/** A worker that runs for as long as the test. */
export async function serve(address: string, tools: readonly Tool[]): Promise<Worker> {
  const worker = createWorker({ address, tools, onStatus: () => undefined });
  const running = worker.run();
  onTestFinished(async () => {
    await worker.stop();
    await running;
  });
  await worker.ready;
  return worker;
}

export interface McpClient {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
}

/** The client of the official SDK at an engine's gateway. */
export async function connectMcp(url: string, headers: Record<string, string> = {}): Promise<McpClient> {
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as Transport);
  onTestFinished(() => client.close());
  return { client, transport };
}
