import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import type { IMetricReader } from '@opentelemetry/sdk-metrics';
import {
  HTTP_KEEPALIVE_MS,
  HTTP_REQUEST_TIMEOUT_MS,
  MAX_HTTP_HEADER_BYTES,
  MAX_SCRAPERS,
} from '../core/limits.ts';

export interface MetricsEndpoint {
  readonly reader: IMetricReader;
  /** HOST:PORT, with the port that the system chose. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Serves `GET /metrics` in Prometheus' text format on a port of its own, so that a network may let scrapers reach
 * it and nothing else. Rejects where the address cannot be listened on.
 *
 * @param address HOST:PORT; port 0 lets the system choose
 */
export async function openMetricsEndpoint(address: string): Promise<MetricsEndpoint> {
  const reader = new PrometheusExporter({ preventServerStart: true });
  const server = createServer({ maxHeaderSize: MAX_HTTP_HEADER_BYTES }, (request, response) => {
    // What follows a question mark is no part of the path.
    const [path] = (request.url ?? '').split('?');
    if (path !== '/metrics') response.writeHead(404).end('GET /metrics\n');
    else if (request.method !== 'GET') response.writeHead(405, { allow: 'GET' }).end();
    else reader.getMetricsRequestHandler(request, response);
  });
  server.requestTimeout = HTTP_REQUEST_TIMEOUT_MS;
  server.keepAliveTimeout = HTTP_KEEPALIVE_MS;
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
