import { type ClientHttp2Stream, connect } from 'node:http2';
import { create, type DescMethod, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { Client, credentials, type Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { type ErrorInfo, ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { ToolService } from '../../gen/spindle/v1/tool_service_pb.ts';
import { refused } from '../../src/core/refusal.ts';
import type { Handlers } from '../../src/rpc/handlers.ts';
import { type Listening, listen } from '../../src/rpc/listen.ts';
import { service } from '../../src/rpc/service.ts';

type ToolHandlers = Handlers<typeof ToolService>;

/** One report to the observer. */
export interface Report {
  readonly level: string;
  readonly event: string;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** A tool service with some handlers, on real ports of loopback. */
export interface Served extends AsyncDisposable {
  readonly listening: Listening;
  /** The base of the HTTP port. */
  readonly url: string;
  readonly client: Client;
  readonly reports: readonly Report[];
}

const absent = async () => refused('not_implemented', 'not part of this test');
const ABSENT: ToolHandlers = {
  listTools: absent,
  searchTools: absent,
  callTool: absent,
  streamCallTool: absent,
  streamCalls: (duplex) => duplex.end(refused('not_implemented', 'not part of this test').refusal),
  startCall: absent,
  getCall: absent,
  listCalls: absent,
  watchCall: absent,
  settleCall: absent,
  cancelCall: absent,
  readBlob: absent,
};

export async function serve(handlers: Partial<ToolHandlers>): Promise<Served> {
  const reports: Report[] = [];
  const listening = await listen({
    services: [service(ToolService, { ...ABSENT, ...handlers }, { http: true })],
    grpc: '127.0.0.1:0',
    http: '127.0.0.1:0',
    observer: { report: (level, event, facts) => reports.push({ level, event, facts }) },
  });
  const client = new Client(listening.grpcAddress, credentials.createInsecure());
  return {
    listening,
    url: `http://${listening.httpAddress}`,
    client,
    reports,
    async [Symbol.asyncDispose]() {
      client.close();
      await listening.drain(0);
    },
  };
}

export const bytesOf = (bytes: Buffer): Buffer => bytes;

/** How grpc-js has to be told about a method. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** A unary call by raw bytes: the answer, or the error. */
export function callBytes(
  client: Client,
  method: DescMethod,
  request: Buffer,
  options: { readonly metadata?: Metadata; readonly deadline?: Date } = {},
): Promise<Buffer | ServiceError> {
  const { metadata, deadline } = options;
  return new Promise((resolve) => {
    const done = (error: ServiceError | null, answer?: Buffer): void =>
      resolve(error ?? answer ?? Buffer.alloc(0));
    const callOptions = deadline === undefined ? {} : { deadline };
    if (metadata === undefined) {
      client.makeUnaryRequest(pathOf(method), bytesOf, bytesOf, request, callOptions, done);
    } else {
      client.makeUnaryRequest(pathOf(method), bytesOf, bytesOf, request, metadata, callOptions, done);
    }
  });
}

/** The message of a method's request, as bytes. */
export function requestBytes<M extends DescMethod>(
  method: M,
  init: Partial<MessageShape<M['input']>>,
): Buffer {
  return Buffer.from(toBinary(method.input, Object.assign(create(method.input), init)));
}

/** The ErrorInfo in a status's trailers. */
export function errorInfoOf(status: Pick<StatusObject, 'metadata'>): ErrorInfo | undefined {
  const [bytes] = status.metadata.get('grpc-status-details-bin');
  if (!(bytes instanceof Uint8Array)) return undefined;
  return fromBinary(StatusSchema, bytes)
    .details.map((detail) => anyUnpack(detail, ErrorInfoSchema))
    .find((info) => info !== undefined);
}

/**
 * Waits until a number stands still: over this many round trips to the engine, each of which gives it and its
 * sockets their turn.
 */
export async function settled(served: Served, number: () => number): Promise<number> {
  let seen = Number.NaN;
  for (let still = 0; still < 100; still += 1) {
    await callBytes(served.client, ToolService.method.getCall, Buffer.alloc(0));
    if (number() !== seen) still = 0;
    seen = number();
  }
  return seen;
}

/** A reader as slow as it likes: grpc-js's own client buffers what nobody reads. */
export interface SlowReader extends Disposable {
  /** Paused. What it yields are gRPC's frames, cut anywhere. */
  readonly stream: ClientHttp2Stream;
}

/** Opens a method by HTTP/2 alone, with one message or none. */
export function openSlowly(served: Served, method: DescMethod | string, request?: Buffer): SlowReader {
  const session = connect(`http://${served.listening.grpcAddress}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': typeof method === 'string' ? method : pathOf(method),
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  if (request !== undefined) stream.write(framed(request));
  return {
    stream,
    [Symbol.dispose]() {
      session.destroy();
    },
  };
}

/** The payloads of gRPC's frames, and the status in the trailers. */
export async function readAll({ stream }: SlowReader): Promise<{ messages: Buffer[]; code: number }> {
  const trailers = new Promise<number>((resolve) =>
    stream.on('trailers', (headers) => resolve(Number(headers['grpc-status']))),
  );
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  const bytes = Buffer.concat(parts);
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.byteLength; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    messages.push(bytes.subarray(at + 5, end));
    at = end;
  }
  return { messages, code: await trailers };
}

function framed(message: Buffer): Buffer {
  const frame = Buffer.alloc(5 + message.byteLength);
  frame.writeUInt32BE(message.byteLength, 1);
  message.copy(frame, 5);
  return frame;
}

/** Posts to a method of the HTTP port; as JSON, unless a header says otherwise. */
export function post(
  served: Served,
  method: string,
  body: string | Buffer,
  headers: Record<string, string> = {},
) {
  return fetch(`${served.url}/spindle.v1.ToolService/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}
