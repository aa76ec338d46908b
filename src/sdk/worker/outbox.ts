import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { Delta } from '../../../gen/spindle/v1/message_pb.ts';
import { ProgressSchema } from '../../../gen/spindle/v1/progress_pb.ts';
import {
  ConnectRequestSchema,
  type ModelDelta,
  ModelDeltaSchema,
  type WorkerFrame,
  WorkerFrameSchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { failure } from '../../core/failure.ts';
import {
  MAX_BATCH_BYTES,
  MAX_BATCH_FRAMES,
  MAX_DELTA_CHARS,
  MAX_DELTAS_PER_FRAME,
  MESSAGE_OVERHEAD_BYTES,
} from '../../core/limits.ts';
import type { ProgressFields } from '../tool-context.ts';

/** A frame to write; its kind is always set. */
export type FrameInit = NonNullable<MessageInitShape<typeof WorkerFrameSchema>['kind']>;

/** The frames that wait for the next write of one stream, in order. */
export interface Outbox {
  put(kind: FrameInit): void;
  /** Adds to the report on a lease that still waits, the newest value of each field, or starts one. */
  report(leaseToken: string, fields: ProgressFields): void;
  /**
   * Adds to the deltas of a lease that still wait, or starts a frame of them. What a slow stream has no room for
   * is left out: the response brings all of it.
   */
  stream(leaseToken: string, deltas: readonly Delta[]): void;
  /** The next message, of at most MAX_BATCH_FRAMES frames and about MAX_BATCH_BYTES (5.2). */
  next(maxMessageBytes: number): Uint8Array | undefined;
  clear(): void;
  readonly size: number;
}

const FRAMES_FIELD = ConnectRequestSchema.field.frames.number;

export function createOutbox(): Outbox {
  let frames: WorkerFrame[] = [];
  /** The reports among them: what happens to a call between two writes is one report. */
  const reports = new Map<string, ProgressFields>();
  /** The frames of deltas among them, and how many characters each holds. */
  const streams = new Map<string, { readonly frame: ModelDelta; chars: number }>();

  return {
    put(kind) {
      frames.push(create(WorkerFrameSchema, { kind } as MessageInitShape<typeof WorkerFrameSchema>));
    },
    report(leaseToken, fields) {
      const waiting = reports.get(leaseToken);
      if (waiting !== undefined) {
        Object.assign(waiting, fields);
        return;
      }
      const progress = create(ProgressSchema, { ...fields, leaseToken });
      reports.set(leaseToken, progress);
      frames.push(create(WorkerFrameSchema, { kind: { case: 'progress', value: progress } }));
    },
    stream(leaseToken, deltas) {
      let waiting = streams.get(leaseToken);
      if (waiting === undefined) {
        waiting = { frame: create(ModelDeltaSchema, { leaseToken }), chars: 0 };
        streams.set(leaseToken, waiting);
        frames.push(create(WorkerFrameSchema, { kind: { case: 'modelDelta', value: waiting.frame } }));
      }
      for (const delta of deltas) {
        waiting.chars += charsOf(delta);
        if (waiting.frame.deltas.length >= MAX_DELTAS_PER_FRAME || waiting.chars > MAX_DELTA_CHARS) return;
        waiting.frame.deltas.push(delta);
      }
    },
    next(maxMessageBytes) {
      if (frames.length === 0) return undefined;
      const writer = new BinaryWriter();
      const room = Math.min(MAX_BATCH_BYTES, maxMessageBytes);
      let count = 0;
      let bytes = 0;
      for (const frame of frames.slice(0, MAX_BATCH_FRAMES)) {
        const encoded = encode(frame, maxMessageBytes);
        const size = (encoded?.length ?? 0) + MESSAGE_OVERHEAD_BYTES;
        // A frame above the size of a batch goes alone.
        if (count > 0 && bytes + size > room) break;
        count += 1;
        bytes += size;
        if (frame.kind.case === 'progress') reports.delete(frame.kind.value.leaseToken);
        if (frame.kind.case === 'modelDelta') streams.delete(frame.kind.value.leaseToken);
        if (encoded !== undefined) writer.tag(FRAMES_FIELD, WireType.LengthDelimited).bytes(encoded);
      }
      frames = frames.slice(count);
      return writer.finish();
    },
    clear() {
      frames = [];
      reports.clear();
      streams.clear();
    },
    get size() {
      return frames.length;
    },
  };
}

/** The text that a delta carries, in UTF-16 code units. */
function charsOf({ kind: { value } }: Delta): number {
  return typeof value === 'string' ? value.length : (value?.arguments.length ?? 0);
}

/**
 * The bytes of a frame, or of what takes its place where the engine would not read it: an answer becomes the
 * failure that says so (3.4), and a report, which is lossy, loses its partial output or is left out.
 */
function encode(frame: WorkerFrame, maxMessageBytes: number): Uint8Array | undefined {
  const encoded = toBinary(WorkerFrameSchema, frame);
  if (encoded.length + MESSAGE_OVERHEAD_BYTES <= maxMessageBytes) return encoded;
  const { kind } = frame;
  if (kind.case === 'answer') {
    return toBinary(
      WorkerFrameSchema,
      create(WorkerFrameSchema, {
        kind: {
          case: 'answer',
          value: {
            leaseToken: kind.value.leaseToken,
            outcome: {
              case: 'error',
              value: failure(
                'result_too_large',
                `The result has ${encoded.length} bytes, and the engine reads at most ${maxMessageBytes}: answer with less, or with a link.`,
              ),
            },
          },
        },
      }),
    );
  }
  if (kind.case !== 'progress' || kind.value.partial.length === 0) {
    return kind.case === 'progress' ? undefined : encoded;
  }
  return encode(
    create(WorkerFrameSchema, { kind: { case: 'progress', value: { ...kind.value, partial: [] } } }),
    maxMessageBytes,
  );
}
