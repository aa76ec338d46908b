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

/**
 * The bytes of events. Session and sequence are columns of their own beside them, so they are not stored
 * again: they are a tenth of a typical event. Events that are encoded together share what their encoder allocates
 * and grows, which is more than half of the work for one of them alone.
 */
export function encodeEvents(events: readonly SessionEvent[]): Uint8Array[] {
  const encoded: Uint8Array[] = [];
  for (let start = 0; start < events.length; start += EVENTS_PER_ENCODING) {
    encodeTogether(events.slice(start, start + EVENTS_PER_ENCODING), encoded);
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

/** One message of many events. It is never stored: each event is cut out of its bytes. */
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

function encodeTogether(events: readonly SessionEvent[], encoded: Uint8Array[]): void {
  const batch: Batch = {
    $typeName: BATCH,
    events: events.map((event) => ({ ...event, sessionId: '', sequence: 0 })),
  };
  const bytes = toBinary(BatchSchema, batch);
  let offset = 0;
  while (offset < bytes.length) {
    // Behind the tag of field 1, one byte, comes the length, seven bits a byte and the lowest first.
    let size = 0;
    let shift = 0;
    let byte: number;
    do {
      offset += 1;
      byte = bytes[offset] ?? 0;
      size += (byte & 0x7f) << shift;
      shift += 7;
    } while (byte > 0x7f);
    offset += 1;
    encoded.push(bytes.subarray(offset, offset + size));
    offset += size;
  }
}
