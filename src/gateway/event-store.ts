import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { MAX_GATEWAY_EVENT_BYTES, MAX_GATEWAY_EVENTS } from '../core/limits.ts';

interface StoredEvent {
  readonly number: number;
  readonly streamId: string;
  readonly message: Parameters<EventStore['storeEvent']>[1];
  readonly bytes: number;
}

/**
 * What one session sent, for a client whose connection broke: it asks for what came after the last event that it
 * got. The oldest events are forgotten first, and a client that asks for what is gone is told so.
 */
export function createEventStore(): EventStore {
  let events: StoredEvent[] = [];
  let bytes = 0;
  let count = 0;

  const find = (eventId: string): StoredEvent | undefined =>
    events.find(({ number }) => String(number) === eventId);

  return {
    async storeEvent(streamId, message) {
      const event = { number: ++count, streamId, message, bytes: JSON.stringify(message).length };
      events.push(event);
      bytes += event.bytes;
      while (events.length > MAX_GATEWAY_EVENTS || (bytes > MAX_GATEWAY_EVENT_BYTES && events.length > 1)) {
        const [oldest, ...others] = events;
        bytes -= oldest?.bytes ?? 0;
        events = others;
      }
      return String(event.number);
    },
    // Without it the transport asks for a replay of an event that nobody knows.
    async getStreamIdForEventId(eventId) {
      return find(eventId)?.streamId;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const last = find(lastEventId);
      if (last === undefined) throw new Error('the event is not kept any more');
      for (const { number, streamId, message } of events) {
        if (number > last.number && streamId === last.streamId) await send(String(number), message);
      }
      return last.streamId;
    },
  };
}
