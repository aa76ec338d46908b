import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Code, ConnectError, createContextValues } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { MAX_HTTP_CONNECTIONS } from '../../core/limits.ts';
import { type Address, formatAddress, isLoopback } from '../address.ts';
import { openContext } from '../context.ts';
import { nameOf, type Serving } from '../invoke.ts';
import { bound, type Port } from '../port.ts';
import type { Service } from '../service.ts';
import { certificateBy } from './certificate-by.ts';
import { answersTo, type HostNames } from './host-guard.ts';
import { take } from './intake.ts';
import { MCP_PATH, serveMcp } from './mcp-route.ts';
import { type Page, pageAt, pageFor } from './pages.ts';
import { contextKey, createRoutes, messageKey } from './routes.ts';
import { createSecurableServer } from './securable-server.ts';

/** Serves those services that are for it by gRPC-Web, Connect and JSON, over HTTP/1.1. */
export async function openHttpPort(
  services: readonly Service[],
  serving: Serving,
  address: Address,
): Promise<Port> {
  const server = createHttpServer(
    services.filter(({ http }) => http),
    serving,
    address,
  );
  /** Connections that have not asked anything: clients open them ahead, and a closed server would wait for them. */
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  return {
    address: await bound('HTTP', address, () => bind(server, address)),
    // Health is asked for on the gRPC port.
    leave: () => undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of unused) socket.destroy();
      }),
    destroy: () => server.closeAllConnections(),
  };
}

function createHttpServer(services: readonly Service[], serving: Serving, address: Address): Server {
  const routes = new Map(createRoutes(services, serving).handlers.map((route) => [route.requestPath, route]));
  const hosts: HostNames = { loopback: isLoopback(address.host), names: serving.hosts };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Whoever is in front might have looked at the other one.
    if ((request.headersDistinct['host']?.length ?? 0) > 1) return send(response, pageFor(400));
    if (!answersTo(hosts, request.headers.host)) return send(response, pageFor(403));
    // connect makes a URL of both, and throws where it cannot.
    if (!URL.canParse(request.url ?? '', `http://${request.headers.host}`))
      return send(response, pageFor(400));
    const path = request.url?.split('?', 1)[0] ?? '';
    const route = routes.get(path);
    if (path === MCP_PATH && serving.mcp !== undefined)
      return serveMcp(serving.mcp, serving, request, response, hosts);
    if (route === undefined) return send(response, pageAt(request.method, path, services));
    await serve(route, serving, request, response);
  };
  const server = createSecurableServer(serving.tls, (request, response) => {
    response.once('close', () => {
      // A closed server still keeps a connection whose last request was being answered.
      if (!server.listening) setImmediate(() => server.closeIdleConnections());
    });
    answer(request, response).catch((error: unknown) => {
      // The peer went away in the middle: there is nobody to tell.
      if (response.destroyed || isGone(error)) return;
      serving.observer.report('error', 'request_failed', {
        error: error instanceof Error ? error.name : typeof error,
      });
      response.destroy();
    });
  });
  server.maxConnections = MAX_HTTP_CONNECTIONS;
  return server;
}

function bind(server: Server, address: Address): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : address.port);
    });
  });
}

async function serve(
  route: UniversalHandler,
  serving: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { remoteAddress, remotePort } = request.socket;
  const peer = formatAddress({ host: remoteAddress ?? 'unknown', port: remotePort ?? 0 });
  const values = createContextValues();
  const arrived = universalRequestFromNodeRequest(request, response, undefined, values);
  if (route.method.methodKind === 'bidi_streaming') {
    // connect would answer HTTP/1.1 with an empty 505, of which clients make "unknown". Taken for a newer
    // version, the request reaches the gate of routes.ts, which says what to do.
    const refusedByGate = await route({ ...arrived, httpVersion: '2.0' });
    return respond(refusedByGate, response);
  }
  const taken = await take(arrived, route.method.input, async () => {
    const context = await openContext(serving, {
      peer,
      header: (name) => arrived.header.get(name) ?? undefined,
      certificate: () => certificateBy(request),
      signal: arrived.signal,
      method: nameOf(route.method),
    });
    values.set(contextKey, context);
    return context.ok;
  });
  if (taken === undefined) return respond(await route(arrived), response);
  values.set(messageKey, taken.message);
  return respond(await route(taken.request), response);
}

async function respond(
  answer: Awaited<ReturnType<UniversalHandler>>,
  response: ServerResponse,
): Promise<void> {
  const { status } = answer;
  // connect leaves these without a body.
  if (status === 405 || status === 415) return send(response, pageFor(status));
  await universalResponseToNodeResponse(answer, response);
}

function send(response: ServerResponse, { status, body }: Page): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    connection: status === 200 ? 'keep-alive' : 'close',
  });
  response.end(`${JSON.stringify(body)}\n`);
}

function isGone(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code === Code.Aborted || code === Code.Canceled;
}
