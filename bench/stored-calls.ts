/** Calls as an engine records them, of the size of a small real one. */
import { create } from '@bufbuild/protobuf';
import { type SessionEvent, SessionEventSchema } from '../gen/spindle/v1/event_pb.ts';
import { directCallSession } from '../src/core/session.ts';
import { timestamp } from '../src/core/time.ts';
import type { Append } from '../src/engine/ports.ts';
import { encodePieces } from '../src/journal/event-codec.ts';

export const EVENTS_PER_CALL = 3;
const now = timestamp(Date.now());
const caller = { tenant: 'default', subject: 'bench' };

type Kind = SessionEvent['kind'];

function eventsOf(callId: string, ended: boolean): SessionEvent[] {
  const events: { readonly kind: unknown; readonly journal: object }[] = [
    {
      journal: {
        caller,
        traceContext: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
      },
      kind: {
        case: 'toolCallRequested',
        value: {
          callId,
          toolDigest: `sha256-${'a'.repeat(64)}`,
          name: 'get_weather',
          arguments: '{"city":"Berlin","unit":"celsius"}',
          input: {},
          policy: { maxAttempts: 1 },
        },
      },
    },
    {
      journal: {
        leaseToken: `abcdefghijklmnopqrstuv/${directCallSession(callId)}`,
        workerInstanceId: 'abcdefghijklmnopqrstuv',
        workerStreamNumber: 1,
      },
      kind: {
        case: 'toolCallDispatched',
        value: { callId, attempt: 1, workerName: 'weather-1', deadline: now },
      },
    },
  ];
  if (ended) {
    const content = [{ kind: { case: 'text', value: { text: '{"temperature":17.5,"sky":"cloudy"}' } } }];
    const outcome = { case: 'result', value: { content } };
    events.push({ journal: {}, kind: { case: 'toolCallFinished', value: { callId, attempts: 1, outcome } } });
  }
  return events.map(({ kind, journal }, index) =>
    create(SessionEventSchema, {
      sessionId: directCallSession(callId),
      sequence: index + 1,
      occurredAt: now,
      journal,
      kind: kind as Kind,
    }),
  );
}

/** The whole log of a direct call, or what there is of it while a worker has it. */
export function storedCall(callId: string, ended: boolean): Append {
  return {
    key: { tenant: caller.tenant, sessionId: directCallSession(callId) },
    expectedSequence: 0,
    events: eventsOf(callId, ended),
    head: { kind: 'call', name: 'get_weather', subject: caller.subject, unfinished: !ended },
    definitions: [`sha256-${'a'.repeat(64)}`],
  };
}

/**
 * What a call that was appended at once takes in the database, by docs/storage.md: its events, their row and its index
 * entry, and the head of its session with three indexes, the one over ids two thirds full.
 */
export function computedBytes({ key, events, head }: Append): number {
  const bytes = encodePieces([events]).reduce((sum, { length }) => sum + length, 0);
  const { length: tenant } = Buffer.from(key.tenant);
  const { length: id } = Buffer.from(key.sessionId);
  const owner = head.kind.length + Buffer.byteLength(head.subject);
  const name = Buffer.byteLength(head.name);
  return bytes + 41 + 64 + 3.5 * tenant + 2.5 * id + 2 * owner + name;
}
