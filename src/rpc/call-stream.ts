import { create, toBinary } from '@bufbuild/protobuf';
import { FailureSchema } from '../../gen/spindle/v1/result_pb.ts';
import {
  type CallToolRequest,
  type CallUpdate,
  CallUpdateSchema,
  type StreamCallsRequest,
  type StreamCallsResponse,
  StreamCallsResponseSchema,
  ToolService,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_BATCH_BYTES, MAX_BATCH_FRAMES, MAX_CALLS_PER_STREAM } from '../core/limits.ts';
import { type Refusal, refused } from '../core/refusal.ts';
import { TransientMap } from '../core/transient-map.ts';
import type { Calls } from '../engine/calls.ts';
import type { Observer } from '../engine/ports.ts';
import { CREDENTIAL_ENDED } from './guard.ts';
import type { Duplex, RequestContext } from './handlers.ts';
import { nameOf } from './invoke.ts';
import { traced } from './traced.ts';
import { merge } from './update-queue.ts';

/**
 * Carries many calls on one stream (ToolService.StreamCalls). Updates that become ready in one tick go in one
 * message; while the client reads too slowly, no new calls are read from it, so what waits is bounded by the
 * calls that it has in flight.
 */
export function serveCallStream(
  calls: Calls,
  observer: Observer,
  duplex: Duplex<StreamCallsRequest, StreamCallsResponse>,
  context: RequestContext,
): void {
  /** How to stop watching each call in flight. */
  const inFlight = new TransientMap<string, () => void>();
  let pending: CallUpdate[] = [];
  let scheduled = false;
  let blocked = false;
  let halfClosed = false;
  let over = false;

  const flush = (): void => {
    scheduled = false;
    if (over) return;
    while (pending.length > 0 && !blocked) {
      const batch = takeBatch(pending);
      pending = pending.slice(batch.length);
      if (!duplex.write(create(StreamCallsResponseSchema, { updates: batch }))) {
        blocked = true;
        duplex.pause();
      }
    }
    if (halfClosed && inFlight.size === 0 && pending.length === 0) {
      leave();
      duplex.end();
    }
  };

  const push = (update: CallUpdate): void => {
    merge(pending, update);
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  };

  const refuse = (callId: string, { reason, message }: Refusal): void =>
    push(
      create(CallUpdateSchema, {
        callId,
        kind: {
          case: 'refused',
          value: create(FailureSchema, { code: reason, message, retryable: isPassing(reason) }),
        },
      }),
    );

  const start = (request: CallToolRequest): void => {
    const { callId } = request;
    if (callId === '') {
      refuse('', refused('invalid_request', 'calls on a stream need a call_id of your own').refusal);
      return;
    }
    if (inFlight.has(callId)) {
      refuse(callId, refused('invalid_request', 'this call_id is in flight on the stream already').refusal);
      return;
    }
    if (inFlight.size >= MAX_CALLS_PER_STREAM) {
      const message = `${MAX_CALLS_PER_STREAM} calls are in flight on this stream, which is the limit`;
      refuse(callId, refused('overloaded', message).refusal);
      return;
    }
    inFlight.set(callId, NOT_YET);
    let refusedAs: string | undefined;
    const stop = calls.request(context.caller, traced(request, context), {
      wantsAll: request.allUpdates,
      update(update) {
        if (update.kind.case === 'finished') inFlight.delete(callId);
        push(update);
      },
      lost(refusal) {
        inFlight.delete(callId);
        refusedAs = refusal.reason;
        refuse(callId, refusal);
      },
    });
    context.record?.({ method: METHOD, callId, name: request.name, outcome: refusedAs ?? 'ok' });
    // A call may end at once: one that had been made before, say.
    if (inFlight.has(callId)) inFlight.set(callId, stop);
  };

  const cancel = (callId: string): void => {
    if (!inFlight.has(callId)) return;
    calls
      .cancel(context.caller, { sessionId: '', callId }, 'the caller cancelled it')
      .catch((error: unknown) => {
        observer.report('error', 'cancel_failed', { call_id: callId, error: String(error) });
      });
  };

  duplex.onMessage((message) => {
    for (const request of message.calls) start(request);
    for (const callId of message.cancelCallIds) cancel(callId);
  });
  duplex.onDrain(() => {
    blocked = false;
    duplex.resume();
    flush();
  });
  duplex.onEnd(() => {
    halfClosed = true;
    flush();
  });
  /** A stream that is over ends the waits, never the calls (4.10). */
  const leave = (): void => {
    over = true;
    stopWaiting();
    for (const stop of inFlight.values()) stop();
    inFlight.clear();
  };
  const stopWaiting =
    context.lifetime?.whenOver(() => {
      leave();
      duplex.end(CREDENTIAL_ENDED);
    }) ?? NOT_YET;
  duplex.onGone(leave);
}

/** Each call on the stream is in the record of who did what, as it begins. */
const METHOD = nameOf(ToolService.method.streamCalls);

const NOT_YET = (): void => undefined;

/** As many updates as go in one message. */
function takeBatch(pending: readonly CallUpdate[]): CallUpdate[] {
  let bytes = 0;
  let count = 0;
  while (count < pending.length && count < MAX_BATCH_FRAMES) {
    bytes += sizeBound(pending[count]);
    if (count > 0 && bytes > MAX_BATCH_BYTES) break;
    count++;
  }
  return pending.slice(0, count);
}

/** About what an update takes in a message, in bytes: only foreign text makes a difference. The rare is measured. */
function sizeBound(update: CallUpdate | undefined): number {
  if (update === undefined || update.kind.case === 'queued' || update.kind.case === 'started') return 1_024;
  if (update.kind.case !== 'finished' || update.kind.value.outcome.case !== 'result')
    return toBinary(CallUpdateSchema, update).byteLength;
  const { content, structuredJson, detailsJson, presentation } = update.kind.value.outcome.value;
  let units = (structuredJson?.length ?? 0) + detailsJson.length;
  for (const { payloadJson } of presentation) units += payloadJson.length;
  for (const { kind } of content) {
    if (kind.case !== 'text') return toBinary(CallUpdateSchema, update).byteLength;
    units += kind.value.text.length;
  }
  return 1_024 + units;
}

function isPassing(reason: Refusal['reason']): boolean {
  return reason === 'overloaded' || reason === 'shutting_down' || reason === 'session_moved';
}
