import { randomBytes } from 'node:crypto';
import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import {
  type CallToolRequestSchema,
  type CallToolResponse,
  ToolService,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import {
  type Acknowledge,
  type AnswerSchema,
  ConnectRequestSchema,
  ConnectResponseSchema,
  type Dispatch,
  type EngineFrame,
  type HelloSchema,
  type Welcome,
  type WorkerFrame,
  WorkerFrameSchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { createInbox, type Inbox } from '../inbox.ts';
import { FRAME_TIMEOUT_MS, REACH_TIMEOUT_MS } from '../limits.ts';

export type Outcome = NonNullable<MessageInitShape<typeof AnswerSchema>['outcome']>;

/** A stream of a raw worker: frames as they are, without anything that a worker's module would add. */
export interface RawStream extends Pick<Inbox<EngineFrame>, 'next' | 'taken'> {
  send(...kinds: NonNullable<MessageInitShape<typeof WorkerFrameSchema>['kind']>[]): void;
  /** Says hello with one tool, and whatever else is given; waits for the welcome. */
  greet(hello?: MessageInitShape<typeof HelloSchema>): Promise<Welcome>;
  /** The first heartbeat, after which dispatches may follow, or a later one. */
  beat(receivedThrough?: number, held?: readonly string[]): void;
  dispatch(): Promise<Dispatch>;
  /** Answers, and waits for the verdict. */
  answer(leaseToken: string, outcome: Outcome): Promise<Acknowledge>;
  halfClose(): void;
  /** Breaks the stream without a word. */
  cut(): void;
  readonly status: Promise<StatusObject>;
}

/** A raw client and raw workers for one engine. */
export interface Peer {
  /** A name for a tool that no other rule uses. */
  readonly tool: string;
  readonly instanceId: string;
  connect(): RawStream;
  /** A worker that offers the tool and has sent its first heartbeat. */
  serving(hello?: MessageInitShape<typeof HelloSchema>): Promise<RawStream>;
  call(args: string, more?: MessageInitShape<typeof CallToolRequestSchema>): Promise<CallToolResponse>;
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethod & { readonly input: I; readonly output: O },
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>>;
  /** Whether anybody takes a connection. */
  isThere(): Promise<boolean>;
  close(): void;
}

export function openPeer(address: string): Peer {
  const client = new Client(address, credentials.createInsecure());
  const suffix = randomBytes(6).toString('hex');
  const tool = `conformance_${suffix}`;
  const instanceId = `conformance-${suffix}-worker`;
  const streams = new Set<RawStream>();
  let streamNumber = 0;

  const unary: Peer['unary'] = (method, request) =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<typeof method.input>) => Buffer.from(toBinary(method.input, message)),
        (bytes: Buffer) => fromBinary(method.output, bytes),
        create(method.input, request),
        (error: ServiceError | null, response) => {
          if (error !== null) reject(error);
          else if (response !== undefined) resolve(response);
        },
      );
    });

  const connect = (): RawStream => {
    const { receive, taken, next } = createInbox<EngineFrame>(FRAME_TIMEOUT_MS);
    const status = Promise.withResolvers<StatusObject>();
    const duplex = client.makeBidiStreamRequest(
      '/spindle.v1.WorkerService/Connect',
      (frames: WorkerFrame[]) =>
        Buffer.from(toBinary(ConnectRequestSchema, create(ConnectRequestSchema, { frames }))),
      (bytes: Buffer) => fromBinary(ConnectResponseSchema, bytes),
    );
    duplex.on('data', (message: { readonly frames: EngineFrame[] }) => receive(message.frames));
    // The status that follows says the same.
    duplex.on('error', () => undefined);
    duplex.on('status', status.resolve);

    const send: RawStream['send'] = (...kinds) => {
      duplex.write(kinds.map((kind) => create(WorkerFrameSchema, { kind })));
    };
    let beats = 0;
    const stream: RawStream = {
      send,
      next,
      taken,
      async greet(hello = {}) {
        streamNumber++;
        const offered = { tool: { name: tool, description: 'A tool of the conformance suite.' } };
        send({
          case: 'hello',
          value: { instanceId, streamNumber, workerName: tool, tools: [offered], ...hello },
        });
        return await next('welcome', 'a welcome');
      },
      beat(receivedThrough = 0, held = []) {
        send({ case: 'heartbeat', value: { sequence: ++beats, receivedThrough, held: [...held] } });
      },
      dispatch: () => next('dispatch', 'a dispatch'),
      answer(leaseToken, outcome) {
        send({ case: 'answer', value: { leaseToken, outcome } });
        return next('acknowledge', 'an acknowledgement', (ack) => ack.leaseToken === leaseToken);
      },
      halfClose: () => duplex.end(),
      cut: () => duplex.cancel(),
      status: status.promise,
    };
    streams.add(stream);
    return stream;
  };

  return {
    tool,
    instanceId,
    connect,
    async serving(hello) {
      const stream = connect();
      await stream.greet(hello);
      stream.beat();
      await stream.next('heartbeatReply', 'a reply to the heartbeat');
      return stream;
    },
    call: (args, more = {}) => unary(ToolService.method.callTool, { name: tool, arguments: args, ...more }),
    unary,
    isThere: () =>
      new Promise((resolve) =>
        client.waitForReady(Date.now() + REACH_TIMEOUT_MS, (error) => resolve(error === undefined)),
      ),
    close() {
      for (const stream of streams) stream.cut();
      client.close();
    },
  };
}
