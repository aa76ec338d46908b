import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from './conversation.ts';

/** One event of a stream: an SSE event, or a chunk of one without a name. */
export interface WireEvent {
  readonly event?: string;
  readonly data: unknown;
}

/** How one provider's API is spoken. */
export interface Wire {
  /** What is wrong with a request, in words; it is then refused, as the provider does. State lasts for one server. */
  check(request: WireRequest): readonly string[];
  wantsStream(request: WireRequest): boolean;
  events(answer: Answer): readonly WireEvent[];
  /** What ends a stream beside the last event: `[DONE]`, say. */
  readonly terminator: string;
  whole(answer: Answer): unknown;
  error(status: number, message: string): unknown;
  errorEvent(message: string): WireEvent;
}

export interface WireRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface WireServer {
  readonly url: string;
  readonly requests: readonly WireRequest[];
  /** Resolves when a client closed a request before its end. */
  readonly closed: Promise<void>;
  /** Resolves once so many events of a hanging answer are written. */
  readonly hanging: Promise<void>;
  stop(): Promise<void>;
}

/** Answers the requests of one conversation in order, on a loopback port. Past its end it answers with 500. */
export async function serveWire(wire: Wire, answers: readonly Answer[]): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const closed = Promise.withResolvers<void>();
  const hanging = Promise.withResolvers<void>();
  let next = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await read(request);
    requests.push(received);
    const problems = wire.check(received);
    if (problems.length > 0) {
      sendJson(response, 400, wire.error(400, problems.join('; ')));
      return;
    }
    const answer = answers[next];
    next += 1;
    if (answer === undefined) {
      sendJson(response, 500, wire.error(500, 'the conversation is over'));
    } else if (answer.status !== undefined) {
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      response.end(answer.body ?? JSON.stringify(wire.error(answer.status, 'told so')));
    } else if (wire.wantsStream(received)) {
      await stream(response, answer);
    } else {
      sendJson(response, 200, wire.whole(answer));
    }
  }

  async function stream(response: ServerResponse, answer: Answer): Promise<void> {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...answer.headers });
    response.on('close', () => {
      if (!response.writableFinished) closed.resolve();
    });
    const events = wire.events(answer);
    for (const [at, event] of events.entries()) {
      if (answer.cut_after === at) {
        response.destroy();
        return;
      }
      if (answer.hang_after === at) {
        hanging.resolve();
        return;
      }
      if (answer.error_after === at) {
        response.end(text(wire.errorEvent('the model is overloaded')));
        return;
      }
      if (!response.write(text(event))) await new Promise((resolve) => response.once('drain', resolve));
    }
    response.end(wire.terminator);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      sendJson(response, 500, wire.error(500, `the test server failed: ${String(error)}`));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    closed: closed.promise,
    hanging: hanging.promise,
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function text({ event, data }: WireEvent): string {
  const json = typeof data === 'string' ? data : JSON.stringify(data);
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${json}\n\n`;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<WireRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as WireRequest['body'];
  return { path: request.url ?? '', headers: request.headers, body };
}
