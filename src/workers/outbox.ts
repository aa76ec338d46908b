import { create, toBinary } from '@bufbuild/protobuf';
import {
  type ConnectResponse,
  ConnectResponseSchema,
  type Dispatch,
  DispatchSchema,
  type EngineFrame,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import { MAX_BATCH_BYTES, MAX_BATCH_FRAMES, MESSAGE_OVERHEAD_BYTES } from '../core/limits.ts';

export interface Outbox {
  /** Puts a frame behind those of this tick; they go in one message (5.2). */
  push(kind: EngineFrame['kind']): void;
  /** Writes what waits now, and does so before a stream ends. */
  flush(): void;
  /** The reader takes no more: nothing should be dispatched to it (5.10). */
  readonly blocked: boolean;
  /** Frames that were pushed and not yet written. */
  readonly waiting: number;
}

export interface OutboxOptions {
  /** False when the reader is blocked. */
  readonly write: (message: ConnectResponse) => boolean;
  /** Runs a function at the end of this tick. */
  readonly soon: (run: () => void) => void;
  /** The largest message that the reader reads, in bytes. */
  readonly maxMessageBytes: () => number;
}

/**
 * Frames that become ready in one tick go in one message: measured, that is 2.6 times the round trips of one
 * frame a message. What waits is bounded by what may be at a worker: its slots, and one acknowledgement, cancel
 * and heartbeat reply for each of its own frames.
 */
export function createOutbox({ write, soon, maxMessageBytes }: OutboxOptions): Outbox & { drained(): void } {
  let frames: EngineFrame[] = [];
  let scheduled = false;
  let blocked = false;

  const flush = (): void => {
    scheduled = false;
    const pending = frames;
    frames = [];
    const room = Math.min(MAX_BATCH_BYTES, maxMessageBytes());
    let start = 0;
    let bytes = 0;
    for (let index = 0; index < pending.length; index++) {
      const frame = pending[index];
      if (frame === undefined) continue;
      const size = frameSizeBound(frame);
      if (index > start && (bytes + size > room || index - start >= MAX_BATCH_FRAMES)) {
        send(pending.slice(start, index));
        start = index;
        bytes = 0;
      }
      bytes += size;
    }
    if (start < pending.length) send(start === 0 ? pending : pending.slice(start));
  };

  const send = (batch: EngineFrame[]): void => {
    if (!write(create(ConnectResponseSchema, { frames: batch }))) blocked = true;
  };

  return {
    push(kind) {
      frames.push({ $typeName: 'spindle.v1.EngineFrame', kind });
      if (scheduled) return;
      scheduled = true;
      soon(flush);
    },
    flush,
    drained() {
      blocked = false;
    },
    get blocked() {
      return blocked;
    },
    get waiting() {
      return frames.length;
    },
  };
}

/** What a frame takes at most beside foreign text, in bytes: tokens, ids, times and tags. */
const SMALL_FRAME_BYTES = 1_024;
/** A UTF-16 code unit takes at most this many bytes of UTF-8. */
const UTF8_BYTES_PER_UNIT = 3;

/**
 * At least the encoded size of a frame, without encoding the common one twice: a dispatch of valid arguments.
 * A bound above the true size only makes smaller batches.
 */
function frameSizeBound({ kind }: EngineFrame): number {
  if (kind.case !== 'dispatch') return kind.case === 'welcome' ? MAX_BATCH_BYTES : SMALL_FRAME_BYTES;
  const { trigger, traceContext, proposed } = kind.value;
  let units = 0;
  for (const name in traceContext) units += name.length + (traceContext[name]?.length ?? 0);
  if (trigger?.kind.case !== 'toolExecute' || proposed !== undefined) return frameSize(kind.value);
  const execute = trigger.kind.value;
  if (execute.input?.status.case !== 'valid' || execute.input.status.value.repairedJson !== undefined) {
    return frameSize(kind.value);
  }
  units += execute.arguments.length;
  return SMALL_FRAME_BYTES + units * UTF8_BYTES_PER_UNIT + execute.checkpoint.byteLength;
}

/** What a dispatch takes in a message, in bytes. */
export function frameSize(dispatch: Dispatch): number {
  return toBinary(DispatchSchema, dispatch).byteLength + MESSAGE_OVERHEAD_BYTES;
}
