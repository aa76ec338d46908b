import type { DescMessage, DescMethod } from '@bufbuild/protobuf';

/** A method of a generated service, with the types of its messages. */
export type Method<Input extends DescMessage, Output extends DescMessage> = DescMethod & {
  readonly input: Input;
  readonly output: Output;
};

/** `/spindle.v1.WorkerService/Connect`, say. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** The same bytes as a Buffer, which grpc-js wants. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
