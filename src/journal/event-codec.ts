import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type SessionEvent, SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';

/**
 * The bytes of an event. Session and sequence are columns of their own beside them, so they are not stored
 * again: they are a tenth of a typical event.
 */
export function encodeEvent(event: SessionEvent): Uint8Array {
  return toBinary(SessionEventSchema, { ...event, sessionId: '', sequence: 0 });
}

/** Throws for bytes that are no event. */
export function decodeEvent(bytes: Uint8Array, sessionId: string, sequence: number): SessionEvent {
  const event = fromBinary(SessionEventSchema, bytes);
  event.sessionId = sessionId;
  event.sequence = sequence;
  return event;
}
