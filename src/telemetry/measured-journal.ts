import type { Meter } from '@opentelemetry/api';
import type { Journal } from '../engine/ports.ts';
import { METRIC } from './conventions.ts';
import { APPEND_BUCKETS } from './metrics.ts';

/** The same journal, with the time that each append takes until it is durable (8.6). */
export function measuredJournal(journal: Journal, meter: Meter, now: () => number): Journal {
  const duration = meter.createHistogram(METRIC.appendDuration, {
    unit: 's',
    description: 'From an append to its being durable.',
    advice: { explicitBucketBoundaries: [...APPEND_BUCKETS] },
  });
  return {
    append(batch) {
      const startedAt = now();
      const appended = journal.append(batch);
      const measure = (): void => duration.record((now() - startedAt) / 1_000);
      appended.then(measure, measure);
      return appended;
    },
    read: (key, afterSequence) => journal.read(key, afterSequence),
    unfinished: () => journal.unfinished(),
    tally: () => journal.tally(),
    list: (query) => journal.list(query),
    prune: (query) => journal.prune(query),
    unreferenced: (tenant, digests) => journal.unreferenced(tenant, digests),
    close: () => journal.close(),
  };
}
