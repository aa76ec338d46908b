import { type DescMessage, type DescMethod, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { accepted, type Outcome } from '../../core/refusal.ts';
import { malformed, NO_PROTOBUF } from '../malformed.ts';

/**
 * A reader that never throws. grpc-js answers INTERNAL where one does, and broken bytes are the caller's fault;
 * so they come through as a value, which ends that request alone with INVALID_ARGUMENT. Strings that are not
 * UTF-8 count as broken: an argument reaches its worker byte for byte or not at all (1.1).
 */
export function decoder(schema: DescMessage): (bytes: Uint8Array) => Outcome<Message> {
  return (bytes) => {
    try {
      return accepted(fromBinary(schema, bytes));
    } catch {
      return malformed(schema, NO_PROTOBUF);
    }
  };
}

/**
 * Messages are encoded before they are queued, so that what waits is counted in bytes. A message that the contract
 * cannot express is a bug of its writer, and throws. One over MAX_MESSAGE_BYTES ends its request with
 * RESOURCE_EXHAUSTED, by grpc-js itself.
 */
export function encode(method: DescMethod, message: Message): Buffer {
  const bytes = toBinary(method.output, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
