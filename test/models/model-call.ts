import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Delta } from '../../gen/spindle/v1/message_pb.ts';
import { ModelRequestSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import type { ModelCall } from '../../src/engine/ports.ts';

/** A model call as the engine makes it, with what it streamed. */
export function modelCall(
  request: MessageInitShape<typeof ModelRequestSchema>,
  more: Partial<Pick<ModelCall, 'callId' | 'attempt' | 'signal'>> = {},
): ModelCall & { readonly deltas: readonly Delta[] } {
  const deltas: Delta[] = [];
  return {
    tenant: 'default',
    callId: 'model-call-1',
    attempt: 1,
    request: create(ModelRequestSchema, request),
    traceContext: {},
    signal: new AbortController().signal,
    onDelta: (delta) => deltas.push(delta),
    deltas,
    ...more,
  };
}
