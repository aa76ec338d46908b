import { create, type DescMethod, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { AccessService } from '../../../gen/spindle/v1/access_service_pb.ts';
import { SessionService } from '../../../gen/spindle/v1/session_service_pb.ts';
import { ToolService } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { WorkerService } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { metadataOf, type Refused, refusedOf } from '../raw-client.ts';

/** What an engine serves. */
export const SERVED_METHODS: readonly DescMethod[] = [
  ToolService,
  SessionService,
  WorkerService,
  AccessService,
].flatMap((service): readonly DescMethod[] => service.methods);

const OK: Refused = { code: 'OK', message: '', domain: undefined, reason: undefined, metadata: {} };

const same = (buffer: Buffer): Buffer => buffer;

function openClient(address: string): Client {
  return new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
}

export interface Asked<M extends DescMethod = DescMethod> {
  readonly token?: string | undefined;
  readonly request?: MessageInitShape<M['input']>;
}

/** How a request ends, of whatever kind its method is: with the refusal, or OK. */
export async function endOf<M extends DescMethod>(
  address: string,
  method: M,
  { token, request }: Asked<M> = {},
): Promise<Refused> {
  const path = `/${method.parent.typeName}/${method.name}`;
  const bytes = Buffer.from(toBinary(method.input, create(method.input, request)));
  if (method.methodKind === 'bidi_streaming') return endOfStream(address, path, { token }, bytes);
  const client = openClient(address);
  const ended = Promise.withResolvers<Refused>();
  if (method.methodKind === 'unary') {
    client.makeUnaryRequest(path, same, same, bytes, metadataOf(token), (error: ServiceError | null) =>
      ended.resolve(error === null ? OK : refusedOf(error)),
    );
  } else {
    const stream = client.makeServerStreamRequest(path, same, same, bytes, metadataOf(token));
    stream.on('data', () => undefined);
    stream.on('error', () => undefined);
    stream.on('status', (status: StatusObject) => ended.resolve(refusedOf(status)));
  }
  return ended.promise.finally(() => client.close());
}

/** The same for a stream in both directions, of any service. */
export async function endOfStream(
  address: string,
  path: string,
  { token }: { readonly token?: string | undefined },
  bytes = Buffer.alloc(0),
): Promise<Refused> {
  const client = openClient(address);
  const stream = client.makeBidiStreamRequest(path, same, same, metadataOf(token));
  const ended = Promise.withResolvers<Refused>();
  stream.on('data', () => undefined);
  stream.on('error', () => undefined);
  stream.on('status', (status: StatusObject) => ended.resolve(refusedOf(status)));
  stream.write(bytes);
  stream.end();
  return ended.promise.finally(() => client.close());
}
