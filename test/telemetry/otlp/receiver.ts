import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { type ReceivedPoint, type ReceivedSpan, readPoints, readSpans } from './messages.ts';

export type Protocol = 'grpc' | 'http/protobuf';

/** What becomes of a request: it is taken, refused for good, or left without an answer. */
export type Manner = 'takes' | 'refuses' | 'stalls';

/** A collector of its own. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  /** For the engine: where it exports to. */
  readonly variables: Readonly<Record<string, string>>;
  /** What has come so far, in the order in which it came. */
  readonly spans: readonly ReceivedSpan[];
  /** The newest export of metrics. */
  readonly points: readonly ReceivedPoint[];
  /** Requests, whatever became of them. */
  readonly requests: number;
  manner: Manner;
  /** Resolves once so much has come that the test holds. */
  until(test: (receiver: Receiver) => boolean): Promise<void>;
}

export async function openReceiver(protocol: Protocol, port = 0): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  let points: readonly ReceivedPoint[] = [];
  let requests = 0;
  const looking = new Set<() => void>();

  /** Whether the request is to be answered, and how. */
  const take = (signal: 'traces' | 'metrics', bytes: Uint8Array): Manner => {
    requests += 1;
    if (receiver.manner === 'takes') {
      if (signal === 'traces') spans.push(...readSpans(bytes));
      else points = readPoints(bytes);
    }
    for (const look of looking) look();
    return receiver.manner;
  };

  const server = protocol === 'grpc' ? await overGrpc(take, port) : await overHttp(take, port);
  const url = `http://127.0.0.1:${server.port}`;
  const receiver: Receiver = {
    url,
    variables: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_METRICS_EXPORTER: 'none',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
    spans,
    get points() {
      return points;
    },
    get requests() {
      return requests;
    },
    manner: 'takes',
    until(test) {
      return new Promise((resolve) => {
        const look = (): void => {
          if (!test(receiver)) return;
          looking.delete(look);
          resolve();
        };
        looking.add(look);
        look();
      });
    },
    [Symbol.asyncDispose]: server.close,
  };
  return receiver;
}

type Take = (signal: 'traces' | 'metrics', bytes: Uint8Array) => Manner;

interface Listening {
  readonly port: number;
  close(): Promise<void>;
}

/** A service of two methods, whose responses are empty: nothing was rejected. */
async function overGrpc(take: Take, port: number): Promise<Listening> {
  const server = new Server();
  for (const [service, signal] of [
    ['trace.v1.TraceService', 'traces'],
    ['metrics.v1.MetricsService', 'metrics'],
  ] as const) {
    const path = `/opentelemetry.proto.collector.${service}/Export`;
    server.addService(
      {
        export: {
          path,
          requestStream: false,
          responseStream: false,
          requestSerialize: (bytes: Buffer) => bytes,
          requestDeserialize: (bytes: Buffer) => bytes,
          responseSerialize: (bytes: Buffer) => bytes,
          responseDeserialize: (bytes: Buffer) => bytes,
        },
      },
      {
        export: (
          { request }: { request: Buffer },
          answer: (error: object | null, response?: Buffer) => void,
        ) => {
          const manner = take(signal, request);
          if (manner === 'takes') answer(null, Buffer.alloc(0));
          if (manner === 'refuses') answer({ code: status.INVALID_ARGUMENT, details: 'not wanted here' });
        },
      },
    );
  }
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, chosen) =>
      error === null ? resolve(chosen) : reject(error),
    );
  });
  return { port: bound, close: async () => server.forceShutdown() };
}

async function overHttp(take: Take, port: number): Promise<Listening> {
  const server = createServer(async (request, response) => {
    const sent = await buffer(request);
    const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
    if (request.headers['content-type'] !== 'application/x-protobuf') {
      response.writeHead(415).end();
      return;
    }
    const manner = take(request.url === '/v1/traces' ? 'traces' : 'metrics', bytes);
    if (manner === 'takes') response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
    if (manner === 'refuses') response.writeHead(400).end();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: bound } = server.address() as AddressInfo;
  return {
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
