import {
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type Message,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, Server, ServerCredentials } from '@grpc/grpc-js';

/** A bidirectional method, with the types of its messages. */
type Method<I extends DescMessage, O extends DescMessage> = DescMethodBiDiStreaming<I, O>;

/** The end of a stream that writes. */
export interface Writer<T> {
  write(message: T): void;
}

/** A server's stream: what it reads, and where it writes. */
export type Serve<I, O> = (out: Writer<O>) => (message: I) => void;

/** One method of a server, with the types of its messages given up. */
export interface Served {
  readonly path: string;
  readonly read: (bytes: Buffer) => Message;
  readonly write: (message: Message) => Buffer;
  readonly serve: Serve<Message, Message>;
}

export function served<I extends DescMessage, O extends DescMessage>(
  method: Method<I, O>,
  serve: Serve<MessageShape<I>, MessageShape<O>>,
): Served {
  return {
    path: pathOf(method),
    read: (bytes) => fromBinary(method.input, bytes),
    write: (message) => bufferOf(toBinary(method.output, message as MessageShape<O>)),
    serve: serve as Serve<Message, Message>,
  };
}

/** Serves streams by grpc-js and nothing else. Resolves with HOST:PORT. */
export function serveStreams(methods: readonly Served[]): Promise<string> {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  for (const { path, read, write, serve } of methods) {
    const handle = (call: { on(event: 'data', take: (message: Message) => void): void } & Writer<Message>) =>
      call.on('data', serve(call));
    server.register(path, handle, write, read, 'bidi');
  }
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(`127.0.0.1:${port}`);
      else reject(error);
    });
  });
}

/** Opens a stream by grpc-js and nothing else. One that breaks ends the process: a benchmark repairs nothing. */
export function openStream<I extends DescMessage, O extends DescMessage>(
  method: Method<I, O>,
  address: string,
  receive: (message: MessageShape<O>) => void,
): Writer<MessageShape<I>> {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.enable_channelz': 0 });
  const call = client.makeBidiStreamRequest(
    pathOf(method),
    (message: MessageShape<I>) => bufferOf(toBinary(method.input, message)),
    (bytes) => fromBinary(method.output, bytes),
  );
  call.on('data', receive);
  call.on('error', (error) => {
    throw error;
  });
  return call;
}

/** Requests of one connection, by grpc-js and nothing else. Each rejects with the status that was not OK. */
export interface Requests {
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
  ): Promise<MessageShape<O>>;
  /** Resolves at the end of the stream. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    receive: (message: MessageShape<O>) => void,
  ): Promise<void>;
}

export function connect(address: string): Requests {
  const client = new Client(address, credentials.createInsecure(), { 'grpc.enable_channelz': 0 });
  return {
    unary: (method, request) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          pathOf(method),
          (message: typeof request) => bufferOf(toBinary(method.input, message)),
          (bytes) => fromBinary(method.output, bytes),
          request,
          (error, response) => {
            if (response === undefined) reject(error);
            else resolve(response);
          },
        );
      }),
    stream: (method, request, receive) =>
      new Promise((resolve, reject) => {
        const call = client.makeServerStreamRequest(
          pathOf(method),
          (message: typeof request) => bufferOf(toBinary(method.input, message)),
          (bytes) => fromBinary(method.output, bytes),
          request,
        );
        call.on('data', receive);
        call.on('error', reject);
        call.on('end', resolve);
      }),
  };
}

/**
 * Collects what becomes ready in one tick, as the engine does: with one message for each, a stream carries less
 * than half as much.
 */
export function coalesce<T>(write: (batch: T[]) => void): (item: T) => void {
  let waiting: T[] = [];
  return (item) => {
    if (waiting.push(item) > 1) return;
    setImmediate(() => {
      const batch = waiting;
      waiting = [];
      write(batch);
    });
  };
}

function pathOf({ parent, name }: DescMethod): string {
  return `/${parent.typeName}/${name}`;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
