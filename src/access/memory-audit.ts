import { MAX_MEMORY_AUDIT_ENTRIES } from '../core/limits.ts';
import type { Audit, AuditEntry, Clock } from '../engine/ports.ts';
import { entryOf } from './audit-entry.ts';

/** A record that ends with the process, and forgets what is oldest. */
export function createMemoryAudit(clock: Clock): Audit {
  let entries: AuditEntry[] = [];
  let recorded = 0;
  return {
    record(fact) {
      entries.push(entryOf(fact, ++recorded, clock.now()));
      if (entries.length >= 2 * MAX_MEMORY_AUDIT_ENTRIES) entries = entries.slice(-MAX_MEMORY_AUDIT_ENTRIES);
    },
    async *read(afterSequence) {
      yield* entries.filter(({ sequence }) => sequence > afterSequence);
    },
    close: async () => undefined,
  };
}
