import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { StreamCallsRequestSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_BATCH_BYTES, MAX_BATCH_FRAMES, MESSAGE_OVERHEAD_BYTES } from '../../core/limits.ts';

/** The calls and cancels that wait for the next write, in order. */
export interface CallOutbox {
  /** An encoded CallToolRequest. */
  call(encoded: Uint8Array): void;
  cancel(callId: string): void;
  /** The next StreamCallsRequest, encoded (5.2). */
  next(): Uint8Array | undefined;
  clear(): void;
}

const { calls: CALLS, cancelCallIds: CANCELS } = StreamCallsRequestSchema.field;

export function createCallOutbox(): CallOutbox {
  let calls: Uint8Array[] = [];
  let cancels: string[] = [];

  return {
    call(encoded) {
      calls.push(encoded);
    },
    cancel(callId) {
      cancels.push(callId);
    },
    next() {
      if (calls.length === 0 && cancels.length === 0) return undefined;
      const writer = new BinaryWriter();
      let count = 0;
      let bytes = 0;
      for (const encoded of calls) {
        const size = encoded.length + MESSAGE_OVERHEAD_BYTES;
        // A call above the size of a batch goes alone.
        if (count === MAX_BATCH_FRAMES || (count > 0 && bytes + size > MAX_BATCH_BYTES)) break;
        writer.tag(CALLS.number, WireType.LengthDelimited).bytes(encoded);
        count += 1;
        bytes += size;
      }
      calls = calls.slice(count);
      // A cancel may be for a call that still waits here, so it goes when no call does.
      if (calls.length === 0) {
        for (const callId of cancels.splice(0, MAX_BATCH_FRAMES)) {
          writer.tag(CANCELS.number, WireType.LengthDelimited).string(callId);
        }
      }
      return writer.finish();
    },
    clear() {
      calls = [];
      cancels = [];
    },
  };
}
