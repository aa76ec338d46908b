import { create } from '@bufbuild/protobuf';
import { type SessionEvent, SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';
import { timestamp } from '../../src/core/time.ts';
import type { Append, SessionHead, SessionKey } from '../../src/engine/ports.ts';

export function keyOf(sessionId: string, tenant = 'acme'): SessionKey {
  return { tenant, sessionId };
}

export const RUNNING: SessionHead = { kind: 'call', name: 'helper', subject: 'ann', unfinished: true };
export const ENDED: SessionHead = { ...RUNNING, unfinished: false };

/** A conversation that owes nothing. */
export const RESTING: SessionHead = { kind: 'session', name: 'agent', subject: 'ann', unfinished: false };

export function eventOf(sessionId: string, sequence: number, text = ''): SessionEvent {
  return create(SessionEventSchema, {
    sessionId,
    sequence,
    occurredAt: timestamp(1_700_000_000_000 + sequence),
    kind: { case: 'stateUpdated', value: { stateJson: JSON.stringify({ sessionId, sequence, text }) } },
  });
}

/** An append of `count` events after a sequence. */
export function appendOf(
  key: SessionKey,
  expectedSequence: number,
  count = 1,
  head: SessionHead = RUNNING,
  text = '',
): Append {
  const events = Array.from({ length: count }, (_, index) =>
    eventOf(key.sessionId, expectedSequence + index + 1, text),
  );
  return { key, expectedSequence, events, head };
}

/** Everything that an iterable gives. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
