import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A message of JSON-RPC, as it came. */
export interface Message {
  readonly id?: number;
  /** Absent in an answer. */
  readonly method?: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
}

/** One POST of the client, and the ways to answer it. */
export interface Exchange {
  readonly message: Message;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Answers with a result, as JSON. */
  result(result: unknown): void;
  json(body: unknown): void;
  status(code: number, headers?: Record<string, string>, body?: string): void;
  /** Begins a stream of events; each call of what it gives writes a message on it. */
  stream(): { send(message: unknown): void; end(): void };
}

export interface ScriptedServer {
  readonly url: string;
  /** Every message so far. */
  readonly seen: readonly Message[];
  /** The same as they came over the wire. */
  readonly bodies: readonly string[];
  /** Resolves with the first message of a method; without one, with the first answer of the client. */
  heard(method: string): Promise<Message>;
  /** Sends a notification on the stream that the client holds open. */
  notify(method: string): Promise<void>;
}

export interface Script {
  /** Which tools there are; a new answer each time it is asked. */
  readonly tools?: () => readonly unknown[];
  /** Answers calls of tools. */
  readonly call?: (exchange: Exchange) => void;
  /** Comes first; true where it has answered. */
  readonly first?: (exchange: Exchange) => boolean;
  /** Answers a GET; false where it has not. */
  readonly get?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The capabilities that it declares. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
}

/** An MCP server that does what a test wants, down to the bytes: no library keeps it from being wrong. */
export async function scriptedServer({
  tools = () => [TOOL],
  call = ({ result }) => result({ content: [{ type: 'text', text: 'done' }] }),
  first = () => false,
  get = () => false,
  capabilities = { tools: {} },
}: Script): Promise<ScriptedServer> {
  const seen: Message[] = [];
  const bodies: string[] = [];
  const waiting = new Map<string, PromiseWithResolvers<Message>>();
  let listening = Promise.withResolvers<ServerResponse>();
  const pending = (method: string): PromiseWithResolvers<Message> => {
    const found = waiting.get(method) ?? Promise.withResolvers<Message>();
    waiting.set(method, found);
    return found;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET') {
      if (get(request, response)) return;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      listening.resolve(response);
      return;
    }
    if (request.method !== 'POST') {
      response.writeHead(200).end();
      return;
    }
    const body = await text(request);
    const message: Message = JSON.parse(body);
    bodies.push(body);
    seen.push(message);
    pending(message.method ?? '').resolve(message);
    const exchange = exchangeOf(message, request, response);
    if (first(exchange)) return;
    if (message.method === 'initialize') {
      response.setHeader('mcp-session-id', `session-${seen.length}`);
      const serverInfo = { name: 'scripted', version: '1' };
      return exchange.result({ protocolVersion: '2025-06-18', capabilities, serverInfo });
    }
    if (message.method === 'tools/list') return exchange.result({ tools: tools() });
    if (message.method === 'tools/call') return call(exchange);
    exchange.status(202);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    bodies,
    heard: (method) => pending(method).promise,
    async notify(method) {
      const stream = await listening.promise;
      listening = Promise.withResolvers();
      listening.resolve(stream);
      stream.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method })}\n\n`);
    },
  };
}

/** A tool as good as any. */
export const TOOL = {
  name: 'work',
  description: 'Works.',
  inputSchema: { type: 'object', properties: { n: { type: 'integer' } } },
};

function exchangeOf(message: Message, request: IncomingMessage, response: ServerResponse): Exchange {
  const json = (body: unknown): void => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  return {
    message,
    request,
    response,
    json,
    result: (result) => json({ jsonrpc: '2.0', id: message.id, result }),
    status(code, headers = {}, body = '') {
      response.writeHead(code, headers).end(body);
    },
    stream() {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      return {
        send: (sent) => void response.write(`data: ${JSON.stringify(sent)}\n\n`),
        end: () => void response.end(),
      };
    },
  };
}
