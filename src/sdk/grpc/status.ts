import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import type { StatusObject } from '@grpc/grpc-js';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import type { StreamEnd } from '../ports.ts';

/** How a request or a stream ended, with the engine's reason where it names one (4.8). */
export function endOf(status: Pick<StatusObject, 'code' | 'details' | 'metadata'>): StreamEnd {
  const { code, details } = status;
  const [packed] = status.metadata.get('grpc-status-details-bin');
  const info = typeof packed === 'object' ? errorInfo(packed) : undefined;
  return info === undefined
    ? { code, details }
    : { code, details, reason: info.reason, metadata: info.metadata };
}

/** Undefined for details that are none of ours: a proxy may have written them. */
function errorInfo(packed: Uint8Array) {
  try {
    for (const detail of fromBinary(StatusSchema, packed).details) {
      const info = anyUnpack(detail, ErrorInfoSchema);
      if (info !== undefined) return info;
    }
  } catch {
    // The status itself still says what happened; bytes that are no google.rpc.Status add nothing to it.
    return undefined;
  }
  return undefined;
}
