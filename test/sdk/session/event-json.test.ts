import { create, type DescMessage } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { eventJson } from '../../../src/sdk/session/event-json.ts';
import { logEventOf } from '../../../src/sdk/session/session-event.ts';

const kinds = SessionEventSchema.oneofs.flatMap(({ name, fields }) => (name === 'kind' ? fields : []));

describe('eventJson', () => {
  it.each(kinds.map((field) => field.localName))('gives %s with its message', (localName) => {
    const message = kinds.find((field) => field.localName === localName)?.message;
    const kind = { case: localName, value: create(message as DescMessage) };
    const sessionEvent = create(SessionEventSchema, { sessionId: 's', sequence: 3, kind: kind as never });
    const event = logEventOf(sessionEvent);
    expect(event && eventJson(event)).toEqual({
      kind: expect.stringMatching(/^[a-z]+(?:\.[a-z_]+)+$/),
      sequence: 3,
      sessionId: 's',
      data: {},
    });
  });

  it('gives a delta and a pause with their members', () => {
    expect(eventJson({ callId: 'c', kind: 'text', text: 'Hello' })).toEqual({
      kind: 'text',
      callId: 'c',
      text: 'Hello',
    });
    const paused = { kind: 'paused', sessionId: 's', turnId: 't', openItems: [] } as const;
    expect(eventJson(paused)).toEqual(paused);
  });
});
