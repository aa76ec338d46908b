import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import type { Evidence, Recorded } from './evidence.ts';

/** The log of a conversation, as it became durable. */
export interface TalkEvidence {
  readonly sessionId: string;
  readonly records: readonly Recorded[];
}

/** Every conversation that there was, children included. */
export function talksOf({ facts }: Evidence): readonly TalkEvidence[] {
  const talks = new Map<string, Recorded[]>();
  facts.forEach((fact, index) => {
    if (fact.kind !== 'committed' || fact.sessionId.startsWith('call:')) return;
    const records = talks.get(fact.sessionId) ?? [];
    talks.set(fact.sessionId, records);
    for (const event of fact.events) records.push({ event, index, time: fact.time, engine: fact.engine });
  });
  return [...talks].map(([sessionId, records]) => ({ sessionId, records }));
}

export function occurredAt({ occurredAt: time }: SessionEvent): number {
  return time === undefined ? 0 : Number(time.seconds) * 1_000 + time.nanos / 1e6;
}
