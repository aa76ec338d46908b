import { type DescMessage, toJson } from '@bufbuild/protobuf';
import { SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { type OpenItem, OpenItemSchema } from '../../../gen/spindle/v1/session_service_pb.ts';
import type { TurnEvent } from './session-event.ts';

/** The messages that an event of the log may hold, by their names. */
const HELD: ReadonlyMap<string, DescMessage> = new Map(
  SessionEventSchema.fields.flatMap(({ message }) =>
    message === undefined ? [] : [[message.typeName, message]],
  ),
);

/**
 * An event as JSON: of the log with `data`, the contract's message in its JSON mapping; a delta with its own members;
 * `paused` with what the turn waits for.
 */
export function eventJson(event: TurnEvent): object {
  if (event.kind === 'paused') return { ...event, openItems: event.openItems.map(openItemJson) };
  if (!('sequence' in event)) {
    const { kind, callId, ...rest } = event;
    return { kind, callId, ...rest };
  }
  const { kind, sessionId, turnId, sequence, occurredAt, data } = event;
  const schema = HELD.get(data.$typeName);
  if (schema === undefined) throw new Error(`${data.$typeName} is no message of the log`);
  return {
    kind,
    sequence,
    ...(turnId === '' ? {} : { turnId }),
    ...(occurredAt === undefined ? {} : { occurredAt: occurredAt.toISOString() }),
    sessionId,
    data: toJson(schema, data),
  };
}

/** What waits for somebody, in the JSON mapping of the contract. */
export function openItemJson(item: OpenItem): object {
  return Object(toJson(OpenItemSchema, item));
}
