import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server, ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.ts';
import { refused } from '../core/refusal.ts';
import { type Context, openContext } from './context.ts';
import { arrivalOf } from './grpc/request.ts';
import type { Serving } from './invoke.ts';
import type { Service } from './service.ts';
import { grpcStatus } from './status.ts';

const UNVERIFIED = refused('internal', 'The engine failed to verify the credential.').refusal;

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/** Standard reflection, so that grpcurl and its like need no .proto files. For whoever has a credential, where one is asked for. */
export function addReflection(server: Server, services: readonly Service[], serving: Serving): void {
  const files = new Map<string, DescFile>();
  for (const { desc } of services) collect(desc.file, files);
  // No contract imports it, but every refusal carries its messages, and a client that shows one looks them up.
  collect(file_google_rpc_error_details, files);
  const fileDescriptorProtos = [...files.values()].map((file) =>
    Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)),
  );
  // The library was made for proto-loader. Of that loader's definitions it reads the descriptors alone.
  const definition: PackageDefinition = {
    spindle: { format: 'Protocol Buffer 3 DescriptorProto', type: {}, fileDescriptorProtos },
  };
  new ReflectionService(definition).addToServer({
    addService: (contract, implementation) => server.addService(contract, heldBack(implementation, serving)),
  });
}

function collect(file: DescFile, files: Map<string, DescFile>): void {
  if (files.has(file.proto.name)) return;
  files.set(file.proto.name, file);
  for (const dependency of file.dependencies) collect(dependency, files);
}

/**
 * The library answers each message at once, whether or not the peer reads. A file takes kilobytes and a question
 * for it a few bytes, so a peer that only asks would fill the memory: it is not read while answers wait.
 */
function heldBack(
  implementation: UntypedServiceImplementation,
  serving: Serving,
): UntypedServiceImplementation {
  const answer = implementation['ServerReflectionInfo'];
  if (answer === undefined) throw new Error('@grpc/reflection no longer serves ServerReflectionInfo');
  return {
    ServerReflectionInfo(stream: ServerDuplexStream<unknown, unknown>) {
      const begin = (context: Context): void => {
        if (!context.ok) {
          stream.emit('error', grpcStatus(context.refusal));
          return;
        }
        Reflect.apply(answer, undefined, [stream]);
        stream.on('data', () => {
          if (!stream.writableNeedDrain) return;
          stream.pause();
          stream.once('drain', () => stream.resume());
        });
      };
      const context = openContext(
        serving,
        arrivalOf(stream, new AbortController().signal, 'grpc.reflection'),
      );
      if ('ok' in context) begin(context);
      else context.then(begin).catch(() => stream.emit('error', grpcStatus(UNVERIFIED)));
    },
  };
}
