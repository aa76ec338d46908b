import { equals } from '@bufbuild/protobuf';
import { SessionEventSchema } from '../../../gen/spindle/v1/event_pb.ts';
import type { Evidence, Report } from './evidence.ts';
import type { TalkEvidence } from './talk-evidence.ts';

/** What watchers were told, held against the log: the log in order, without gaps or repeats, once it is durable (7.1). */
export function checkWatches(
  evidence: Evidence,
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  const logs = new Map(talks.map(({ sessionId, records }) => [sessionId, records]));
  const cursors = new Map<string, number>();
  evidence.facts.forEach((fact, index) => {
    if (fact.kind === 'watch_begun') {
      cursors.set(fact.watch, fact.afterSequence);
      if (fact.afterSequence > 0) cover('watch taken up again');
    }
    if (fact.kind !== 'watch_told') return;
    for (const event of fact.events) {
      const where = `${fact.watch}: event ${event.sequence}`;
      const cursor = cursors.get(fact.watch) ?? 0;
      if (event.sequence !== cursor + 1) report('7.1', `${where} after ${cursor}`, fact.time);
      cursors.set(fact.watch, event.sequence);
      const record = logs.get(fact.sessionId)?.[event.sequence - 1];
      if (record === undefined || record.index > index)
        report('7.1', `${where} was told before it was durable`, fact.time);
      else if (!equals(SessionEventSchema, { ...record.event, journal: undefined }, event))
        report('7.1', `${where} is another one in the log`, fact.time);
      if (event.journal !== undefined) report('9.3', `${where} tells what only the journal needs`, fact.time);
    }
  });
}
