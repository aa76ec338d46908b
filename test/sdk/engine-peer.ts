/** A scripted engine on a real port: the other end of the SDK's streams, with no rules of its own. */
import {
  create,
  type DescMessage,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type handleBidiStreamingCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ToolService } from '../../gen/spindle/v1/tool_service_pb.ts';
import {
  type ConnectRequest,
  type ConnectResponse,
  ConnectResponseSchema,
  type EngineFrameSchema,
  type WorkerFrame,
  WorkerService,
} from '../../gen/spindle/v1/worker_service_pb.ts';

export type EngineFrameInit = NonNullable<MessageInitShape<typeof EngineFrameSchema>['kind']>;
export type FrameOf<Case> =
  Extract<WorkerFrame['kind'], { case: Case }> extends { value: infer Value } ? Value : never;

/** Reads what arrives in order, and waits for what has not arrived yet. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #readers: ((item: T) => void)[] = [];

  push(item: T): void {
    const reader = this.#readers.shift();
    if (reader === undefined) this.#items.push(item);
    else reader(item);
  }

  take(): Promise<T> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  get waiting(): readonly T[] {
    return this.#items;
  }
}

/** One stream of Connect, seen from the engine. */
export class PeerStream {
  readonly frames = new Inbox<WorkerFrame['kind']>();
  /** How many frames each message carried. */
  readonly batches: number[] = [];
  readonly ended: Promise<'half_closed' | 'cancelled'>;
  readonly #call: ServerDuplexStream<ConnectRequest, ConnectResponse>;

  constructor(call: ServerDuplexStream<ConnectRequest, ConnectResponse>) {
    this.#call = call;
    call.on('data', (request: ConnectRequest) => {
      this.batches.push(request.frames.length);
      for (const { kind } of request.frames) this.frames.push(kind);
    });
    this.ended = new Promise((resolve) => {
      call.on('end', () => resolve('half_closed'));
      call.on('cancelled', () => resolve('cancelled'));
      call.on('error', () => resolve('cancelled'));
    });
  }

  send(...kinds: EngineFrameInit[]): void {
    this.#call.write(create(ConnectResponseSchema, { frames: kinds.map((kind) => ({ kind })) }));
  }

  /** The next frame of a kind; frames of other kinds on the way to it are dropped. */
  async next<Case extends NonNullable<WorkerFrame['kind']['case']>>(name: Case): Promise<FrameOf<Case>> {
    for (;;) {
      const frame = await this.frames.take();
      if (frame.case === name) return frame.value as FrameOf<Case>;
    }
  }

  end(): void {
    this.#call.end();
  }

  fail(code: number, details: string): void {
    this.#call.emit('error', { code, details });
  }
}

export interface EnginePeer {
  readonly address: string;
  /** The streams that workers opened, in order. */
  readonly streams: Inbox<PeerStream>;
  close(): Promise<void>;
}

/** How the peer answers a client. */
export type PeerHandlers = Partial<{
  streamCalls: handleBidiStreamingCall<
    MessageShape<typeof ToolService.method.streamCalls.input>,
    MessageShape<typeof ToolService.method.streamCalls.output>
  >;
  unary: (method: string, request: unknown) => unknown;
  stream: (method: string, request: unknown) => readonly unknown[];
}>;

export async function startEnginePeer(handlers: PeerHandlers = {}, port = 0): Promise<EnginePeer> {
  const streams = new Inbox<PeerStream>();
  const server = new Server();
  server.addService(definitionOf(WorkerService), {
    connect: (call: ServerDuplexStream<ConnectRequest, ConnectResponse>) =>
      streams.push(new PeerStream(call)),
  });
  server.addService(definitionOf(ToolService), toolHandlers(handlers));
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, actual) =>
      error === null ? resolve(actual) : reject(error),
    );
  });
  return {
    address: `127.0.0.1:${bound}`,
    streams,
    async close() {
      server.forceShutdown();
    },
  };
}

function toolHandlers(handlers: PeerHandlers): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const method of ToolService.methods) {
    if (method.localName === 'streamCalls') {
      if (handlers.streamCalls !== undefined) implementation['streamCalls'] = handlers.streamCalls;
    } else if (method.methodKind === 'server_streaming') {
      implementation[method.localName] = (call: ServerWritableStream<unknown, unknown>) => {
        for (const response of handlers.stream?.(method.localName, call.request) ?? []) {
          call.write(create(method.output, response as MessageInitShape<DescMessage>));
        }
        call.end();
      };
    } else {
      implementation[method.localName] = (
        call: ServerUnaryCall<unknown, unknown>,
        answer: sendUnaryData<unknown>,
      ) => {
        try {
          const response = handlers.unary?.(method.localName, call.request);
          answer(null, create(method.output, response as MessageInitShape<DescMessage>));
        } catch (error) {
          answer(error as Error);
        }
      };
    }
  }
  return implementation;
}

export function definitionOf(service: DescService): Record<string, MethodDefinition<unknown, unknown>> {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        path: `/${service.typeName}/${method.name}`,
        requestStream: method.methodKind === 'bidi_streaming',
        responseStream: method.methodKind !== 'unary',
        requestSerialize: (message) =>
          Buffer.from(toBinary(method.input, message as MessageShape<DescMessage>)),
        requestDeserialize: (bytes) => fromBinary(method.input, bytes),
        responseSerialize: (message) =>
          Buffer.from(toBinary(method.output, message as MessageShape<DescMessage>)),
        responseDeserialize: (bytes) => fromBinary(method.output, bytes),
      } satisfies MethodDefinition<unknown, unknown>,
    ]),
  );
}

/** Opens the stream of a worker: reads its hello, welcomes it, and reads its first heartbeat. */
export async function welcomeNext(peer: EnginePeer) {
  const stream = await peer.streams.take();
  const hello = await stream.next('hello');
  stream.send({ case: 'welcome', value: { connectionId: 'c1', resumeToken: 'token-1' } });
  const heartbeat = await stream.next('heartbeat');
  return { stream, hello, heartbeat };
}
