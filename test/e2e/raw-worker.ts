/** A worker made of the contract alone: it sends the frames that a test says, and does nothing by itself. */
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, type ClientDuplexStream, credentials, type StatusObject } from '@grpc/grpc-js';
import type { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import {
  type Acknowledge,
  type AnswerSchema,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
  type Dispatch,
  type EngineFrame,
  type HelloSchema,
  type Welcome,
  type WorkerFrameSchema,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { createInbox, type Inbox } from './inbox.ts';
import { type ClientOptions, metadataOf } from './raw-client.ts';

export type FrameKind = NonNullable<MessageInitShape<typeof WorkerFrameSchema>['kind']>;
export type HelloInit = Extract<MessageInitShape<typeof HelloSchema>, { readonly $typeName?: never }>;
export type Outcome = NonNullable<MessageInitShape<typeof AnswerSchema>['outcome']>;
type EngineKind = Exclude<EngineFrame['kind'], { case: undefined }>;
type FrameOf<C extends EngineKind['case']> = { readonly [K in EngineKind as K['case']]: K['value'] }[C];

/** A stream on which nothing has been said. */
export interface RawStream {
  /** Every message, as it came. */
  readonly messages: readonly ConnectResponse[];
  readonly inbox: Inbox<EngineFrame>;
  /** How the stream ended. */
  readonly status: Promise<StatusObject>;
  /** Sends frames in one message. */
  send(...kinds: readonly FrameKind[]): void;
  sendBytes(bytes: Uint8Array): void;
  /** The next frame of a kind. */
  next<C extends EngineKind['case']>(kind: C): Promise<FrameOf<C>>;
  halfClose(): void;
  /** Vanishes: the connection is closed under the stream. */
  vanish(): void;
  /** Stops reading, and goes on. */
  pause(): void;
  resume(): void;
}

/** A dispatch of a tool call, with what a worker reads first. */
export interface Work {
  readonly dispatch: Dispatch;
  readonly leaseToken: string;
  readonly execute: ToolExecute;
}

export interface RawWorker extends RawStream {
  readonly hello: HelloInit;
  readonly welcome: Welcome;
  /** The next dispatch, of the call with this id where one is given. */
  work(callId?: string): Promise<Work>;
  /** Answers a dispatch, and waits for the acknowledgement. */
  answer(leaseToken: string, outcome: Outcome): Promise<Acknowledge>;
  /** Says that it lives and what it holds, and waits for the reply. */
  heartbeat(receivedThrough: number, ...held: readonly string[]): Promise<readonly string[]>;
}

export function openStream(address: string, { token, channel }: ClientOptions = {}): RawStream {
  const client = new Client(address, channel ?? credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
  });
  const stream: ClientDuplexStream<Uint8Array, Buffer> = client.makeBidiStreamRequest(
    '/spindle.v1.WorkerService/Connect',
    (bytes: Uint8Array) => Buffer.from(bytes),
    (bytes: Buffer) => bytes,
    metadataOf(token),
  );
  const messages: ConnectResponse[] = [];
  const inbox = createInbox<EngineFrame>();
  const status = Promise.withResolvers<StatusObject>();
  stream.on('data', (bytes: Buffer) => {
    const message = fromBinary(ConnectResponseSchema, bytes);
    messages.push(message);
    message.frames.forEach(inbox.push);
  });
  // The status tells the same.
  stream.on('error', () => undefined);
  stream.on('status', (ended: StatusObject) => {
    status.resolve(ended);
    inbox.end(`the stream ended with ${ended.code} ${ended.details}`);
    client.close();
  });
  return {
    messages,
    inbox,
    status: status.promise,
    send(...kinds) {
      const request = create(ConnectRequestSchema, { frames: kinds.map((kind) => ({ kind })) });
      stream.write(toBinary(ConnectRequestSchema, request));
    },
    sendBytes: (bytes) => {
      stream.write(bytes);
    },
    next: (kind) => inbox.take(kind, (frame) => frameOf(frame, kind)),
    halfClose: () => stream.end(),
    vanish() {
      stream.cancel();
      client.close();
    },
    pause: () => {
      stream.pause();
    },
    resume: () => {
      stream.resume();
    },
  };
}

/** The value of a frame, where it is of a kind. */
function frameOf<C extends EngineKind['case']>({ kind }: EngineFrame, wanted: C): FrameOf<C> | undefined {
  // The cases are compared, which says which value it is; types cannot follow that.
  const value: unknown = kind.case === wanted ? kind.value : undefined;
  return value as FrameOf<C> | undefined;
}

let processes = 0;

/** A hello of a process of its own. */
export function helloOf(
  tools: readonly MessageInitShape<typeof ToolSchema>[],
  more: HelloInit = {},
): HelloInit {
  return {
    instanceId: `raw-${process.pid}-${++processes}`,
    streamNumber: 1,
    tools: tools.map((tool) => ({ tool })),
    ...more,
  };
}

/** Connects up to the welcome; no heartbeat is sent. */
export async function shakeHands(
  address: string,
  hello: HelloInit,
  options: ClientOptions = {},
): Promise<RawWorker> {
  const stream = openStream(address, options);
  stream.send({ case: 'hello', value: hello });
  const welcome = await stream.next('welcome');
  let heartbeats = 0;
  return {
    ...stream,
    hello,
    welcome,
    work: (callId) =>
      stream.inbox.take(`dispatch of ${callId ?? 'any call'}`, ({ kind }) => {
        if (kind.case !== 'dispatch' || kind.value.trigger?.kind.case !== 'toolExecute') return undefined;
        const execute = kind.value.trigger.kind.value;
        if (callId !== undefined && execute.callId !== callId) return undefined;
        return { dispatch: kind.value, leaseToken: kind.value.leaseToken, execute };
      }),
    async answer(leaseToken, outcome) {
      stream.send({ case: 'answer', value: { leaseToken, outcome } });
      return stream.inbox.take(`acknowledgement of ${leaseToken}`, ({ kind }) =>
        kind.case === 'acknowledge' && kind.value.leaseToken === leaseToken ? kind.value : undefined,
      );
    },
    async heartbeat(receivedThrough, ...held) {
      const sequence = ++heartbeats;
      stream.send({ case: 'heartbeat', value: { sequence, receivedThrough, held: [...held] } });
      return stream.inbox.take(`reply to heartbeat ${sequence}`, ({ kind }) =>
        kind.case === 'heartbeatReply' && kind.value.sequence === sequence ? kind.value.abandon : undefined,
      );
    },
  };
}

/** Connects, and says that it lives: dispatches may come. */
export async function connectWorker(
  address: string,
  hello: HelloInit,
  options: ClientOptions = {},
): Promise<RawWorker> {
  const worker = await shakeHands(address, hello, options);
  await worker.heartbeat(0);
  return worker;
}

/** The same process on its next stream, holding these leases. */
export async function reconnect(
  address: string,
  earlier: RawWorker,
  held: HelloInit['held'] = [],
  more: HelloInit = {},
  options: ClientOptions = {},
): Promise<RawWorker> {
  const streamNumber = (earlier.hello.streamNumber ?? 1) + 1;
  const { resumeToken } = earlier.welcome;
  return connectWorker(
    address,
    { ...earlier.hello, streamNumber, resumeToken, held: [...held], ...more },
    options,
  );
}

export const textResult = (text: string): Outcome => ({
  case: 'result',
  value: { content: [{ kind: { case: 'text', value: { text } } }] },
});
