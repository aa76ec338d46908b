import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server, ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.ts';
import type { Service } from './service.ts';

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/** Standard reflection, so that grpcurl and its like need no .proto files. */
export function addReflection(server: Server, services: readonly Service[]): void {
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
    addService: (contract, implementation) => server.addService(contract, heldBack(implementation)),
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
function heldBack(implementation: UntypedServiceImplementation): UntypedServiceImplementation {
  const answer = implementation['ServerReflectionInfo'];
  if (answer === undefined) throw new Error('@grpc/reflection no longer serves ServerReflectionInfo');
  return {
    ServerReflectionInfo(stream: ServerDuplexStream<unknown, unknown>) {
      Reflect.apply(answer, undefined, [stream]);
      stream.on('data', () => {
        if (!stream.writableNeedDrain) return;
        stream.pause();
        stream.once('drain', () => stream.resume());
      });
    },
  };
}
