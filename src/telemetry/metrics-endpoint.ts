import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import type { IMetricReader } from '@opentelemetry/sdk-metrics';
import { MAX_SCRAPERS } from '../core/limits.ts';
import type { Observer } from '../engine/ports.ts';

export interface MetricsEndpoint {
  readonly reader: IMetricReader;
  /** HOST:PORT, with the port that the system chose. */
  readonly address: string;
  close(): Promise<void>;
}

/** What stands in front of the endpoint, made by those who know of credentials. */
export interface ScrapeGate {
  /** Throws an Error for the operator where the address may not be listened on (9.1). */
  checkAddress(address: string): void;
  /** A server with the engine's bounds, and its TLS. */
  createServer(listener: RequestListener): Server;
  /** Why whoever asks is turned away; undefined where they may read. */
  refusal(request: IncomingMessage): Promise<{ status: number; message: string } | undefined>;
}

/**
 * Serves `GET /metrics` in Prometheus' text format on a port of its own, so that a network may let scrapers reach
 * it and nothing else. Rejects where the address cannot be listened on.
 *
 * @param address HOST:PORT; port 0 lets the system choose
 */
export async function openMetricsEndpoint(
  address: string,
  gate: ScrapeGate,
  observer: Observer,
): Promise<MetricsEndpoint> {
  gate.checkAddress(address);
  const reader = new PrometheusExporter({ preventServerStart: true });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // What follows a question mark is no part of the path.
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') {
      response.writeHead(404).end('GET /metrics\n');
      return;
    }
    if (request.method !== 'GET') {
      response.writeHead(405, { allow: 'GET' }).end();
      return;
    }
    const refusal = await gate.refusal(request);
    if (refusal === undefined) reader.getMetricsRequestHandler(request, response);
    else {
      const asking = refusal.status === 401 ? { 'www-authenticate': 'Bearer' } : {};
      response.writeHead(refusal.status, asking).end(`${refusal.message}\n`);
    }
  };
  const server = gate.createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      observer.report('error', 'request_failed', {
        error: error instanceof Error ? error.name : typeof error,
      });
      response.destroy();
    });
  });
  server.maxConnections = MAX_SCRAPERS;
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port: Number(address.slice(colon + 1)) }, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    reader,
    address: `${address.slice(0, colon)}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
