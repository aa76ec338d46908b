/** A client made of the contract alone. */
import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { ToolService } from '../../gen/spindle/v1/tool_service_pb.ts';
import { createInbox, type Inbox } from './inbox.ts';

export const { method } = ToolService;

/** A status that is not OK, with the ErrorInfo that every refusal carries. */
export interface Refused {
  /** The status's name: NOT_FOUND, say. */
  readonly code: string;
  readonly message: string;
  readonly domain: string | undefined;
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface ResponseStream<O> extends Inbox<O> {
  readonly status: Promise<StatusObject>;
  next(): Promise<O>;
  cancel(): void;
}

export interface RequestStream<I extends DescMessage, O> extends ResponseStream<O> {
  send(request: MessageInitShape<I>): void;
  sendBytes(bytes: Uint8Array): void;
  halfClose(): void;
}

export interface RawClient {
  /** A unary call; rejects with an Error that names the status. */
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    deadlineMs?: number,
  ): Promise<MessageShape<O>>;
  /** A unary call that must be refused. */
  refused<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    deadlineMs?: number,
  ): Promise<Refused>;
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
  ): ResponseStream<MessageShape<O>>;
  duplex<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
  ): RequestStream<I, MessageShape<O>>;
  close(): void;
}

export interface ClientOptions {
  /** What is sent as the authorization; a bearer token where it has no scheme. */
  readonly token?: string | undefined;
  readonly channel?: ChannelCredentials | undefined;
}

export function metadataOf(token: string | undefined): Metadata {
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', token.includes(' ') ? token : `Bearer ${token}`);
  return metadata;
}

export function openClient(address: string, { token, channel }: ClientOptions = {}): RawClient {
  const client = new Client(address, channel ?? credentials.createInsecure(), {
    'grpc.max_receive_message_length': 4 * 1024 * 1024,
    'grpc.max_send_message_length': -1,
    'grpc.use_local_subchannel_pool': 1,
  });
  const unary = <I extends DescMessage, O extends DescMessage>(
    desc: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    deadlineMs: number | undefined,
  ): Promise<MessageShape<O> | Refused> =>
    new Promise((resolve) => {
      client.makeUnaryRequest(
        pathOf(desc),
        (message: MessageInitShape<I>) => encode(desc.input, message),
        (bytes: Buffer) => fromBinary(desc.output, bytes),
        request,
        metadataOf(token),
        deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
        (error: ServiceError | null, response?: MessageShape<O>) => {
          if (error !== null) resolve(refusedOf(error));
          else if (response !== undefined) resolve(response);
        },
      );
    });
  return {
    async call(desc, request, deadlineMs) {
      const answer = await unary(desc, request, deadlineMs);
      if (isRefused(answer)) throw new Error(`${desc.name}: ${answer.code} ${answer.message}`);
      return answer;
    },
    async refused(desc, request, deadlineMs) {
      const answer = await unary(desc, request, deadlineMs);
      if (!isRefused(answer)) throw new Error(`${desc.name} was not refused`);
      return answer;
    },
    stream(desc, request) {
      const stream = client.makeServerStreamRequest(
        pathOf(desc),
        (message: typeof request) => encode(desc.input, message),
        (bytes: Buffer) => fromBinary(desc.output, bytes),
        request,
        metadataOf(token),
      );
      return responses(stream);
    },
    duplex(desc) {
      const stream: ClientDuplexStream<
        Uint8Array,
        MessageShape<typeof desc.output>
      > = client.makeBidiStreamRequest(
        pathOf(desc),
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => fromBinary(desc.output, bytes),
        metadataOf(token),
      );
      return {
        ...responses(stream),
        send: (request) => {
          stream.write(encode(desc.input, request));
        },
        sendBytes: (bytes) => {
          stream.write(bytes);
        },
        halfClose: () => stream.end(),
      };
    },
    close: () => client.close(),
  };
}

function responses<O>(
  stream: ClientReadableStream<O> | ClientDuplexStream<Uint8Array, O>,
): ResponseStream<O> {
  const inbox = createInbox<O>();
  const ended = Promise.withResolvers<StatusObject>();
  stream.on('data', (item: O) => inbox.push(item));
  // The status tells the same.
  stream.on('error', () => undefined);
  stream.on('status', (end: StatusObject) => {
    ended.resolve(end);
    inbox.end(`the stream ended with ${end.code} ${end.details}`);
  });
  return {
    ...inbox,
    status: ended.promise,
    next: () => inbox.take('response', (item) => item),
    cancel: () => stream.cancel(),
  };
}

function isRefused(answer: object): answer is Refused {
  return !('$typeName' in answer);
}

export function refusedOf(ended: StatusObject): Refused {
  const [bytes] = ended.metadata.get('grpc-status-details-bin');
  const details = Buffer.isBuffer(bytes) ? fromBinary(StatusSchema, bytes).details : [];
  const info = details
    .map((detail) => anyUnpack(detail, ErrorInfoSchema))
    .find((found) => found !== undefined);
  return {
    code: status[ended.code] ?? String(ended.code),
    message: ended.details,
    domain: info?.domain,
    reason: info?.reason,
    metadata: info?.metadata ?? {},
  };
}

function encode<S extends DescMessage>(schema: S, message: MessageInitShape<S>): Buffer {
  return Buffer.from(toBinary(schema, create(schema, message)));
}

function pathOf(desc: { readonly name: string; readonly parent: { readonly typeName: string } }): string {
  return `/${desc.parent.typeName}/${desc.name}`;
}
