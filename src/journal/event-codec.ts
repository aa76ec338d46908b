import { create, createFileRegistry, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from '@bufbuild/protobuf/wkt';
import {
  file_spindle_v1_event,
  type SessionEvent,
  SessionEventSchema,
} from '../../gen/spindle/v1/event_pb.ts';
import { EVENTS_PER_ENCODING } from '../core/limits.ts';
import { frameAt } from './log-piece.ts';

/**
 * The bytes of pieces of logs (log-piece.ts), one for each. Session and sequence are columns of their own beside
 * them, so they are not stored again: they are a tenth of a typical event. Events that are encoded together share
 * what their encoder allocates and grows, which is more than half of the work for one of them alone.
 */
export function encodePieces(pieces: readonly (readonly SessionEvent[])[]): Uint8Array[] {
  const encoded: Uint8Array[] = [];
  let start = 0;
  let count = 0;
  for (const [index, events] of pieces.entries()) {
    count += events.length;
    if (count < EVENTS_PER_ENCODING && index < pieces.length - 1) continue;
    encodeTogether(pieces.slice(start, index + 1), encoded);
    start = index + 1;
    count = 0;
  }
  return encoded;
}

/** Throws for bytes that are no event. */
export function decodeEvent(bytes: Uint8Array, sessionId: string, sequence: number): SessionEvent {
  const event = fromBinary(SessionEventSchema, bytes);
  event.sessionId = sessionId;
  event.sequence = sequence;
  return event;
}

interface Batch extends Message {
  readonly events: readonly SessionEvent[];
}

const BATCH = 'spindle.journal.Batch';

/** One message of many events. Pieces are cut out of its bytes. */
const BatchSchema = batchSchema();

function batchSchema() {
  const field = {
    name: 'events',
    number: 1,
    label: FieldDescriptorProto_Label.REPEATED,
    type: FieldDescriptorProto_Type.MESSAGE,
    typeName: `.${SessionEventSchema.typeName}`,
  };
  const file = create(FileDescriptorProtoSchema, {
    name: 'spindle/journal/batch.proto',
    package: 'spindle.journal',
    syntax: 'proto3',
    dependency: [file_spindle_v1_event.proto.name],
    messageType: [{ name: 'Batch', field: [field] }],
  });
  const schema = createFileRegistry(file, () => file_spindle_v1_event).getMessage(BATCH);
  if (schema === undefined) throw new Error(`${BATCH} is not in its own file`);
  return schema;
}

function encodeTogether(pieces: readonly (readonly SessionEvent[])[], encoded: Uint8Array[]): void {
  const batch: Batch = {
    $typeName: BATCH,
    events: pieces.flatMap((events) => events.map((event) => ({ ...event, sessionId: '', sequence: 0 }))),
  };
  const bytes = toBinary(BatchSchema, batch);
  let offset = 0;
  for (const events of pieces) {
    const first = frameAt(bytes, offset);
    let { end } = first;
    for (let rest = events.length - 1; rest > 0; rest -= 1) end = frameAt(bytes, end).end;
    encoded.push(bytes.subarray(events.length === 1 ? first.start : offset, end));
    offset = end;
  }
}
