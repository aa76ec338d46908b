import { join } from 'node:path';
import { digestOfLine, NO_LINE, previousIn } from './audit-chain.ts';
import { auditFilesIn, firstSequenceIn, linesIn } from './audit-files.ts';

export interface AuditVerdict {
  readonly entries: number;
  /** The SHA-256 of the last entry's line: whoever has noted it elsewhere finds out whether the end is still there. */
  readonly head: string;
  /** Lines that are no entries, as a power cut leaves them: nothing follows from one. */
  readonly torn: number;
  /** Where a line was changed, removed or added, in sentences. */
  readonly faults: readonly string[];
}

/**
 * Whether every line of the record follows the one before it. Files that were kept long enough are gone from its
 * start, and whoever cuts its end leaves no trace in what is left: `noted` is a head from an earlier time.
 */
export async function verifyAudit(directory: string, noted?: string): Promise<AuditVerdict> {
  const files = await auditFilesIn(directory);
  const faults: string[] = [];
  let entries = 0;
  let torn = 0;
  let isChained = false;
  let isNoted = noted === undefined;
  // Retention removes from the start, so only the record's very first line is known to have none before it.
  let last = firstSequenceIn(files[0] ?? '') <= 1 ? NO_LINE : undefined;
  for (const name of files) {
    let line = 0;
    for await (const { text, entry } of linesIn(join(directory, name))) {
      line += 1;
      if (entry === undefined) {
        if (text !== '') torn += 1;
        continue;
      }
      const previous = previousIn(text);
      const follows = previous === undefined ? !isChained : last === undefined || previous === last;
      if (!follows)
        faults.push(
          `${name}:${line}: entry ${entry.sequence} does not follow the one before it. One of them was changed, or one between or before them was removed or added.`,
        );
      isChained ||= previous !== undefined;
      last = digestOfLine(text);
      isNoted ||= last === noted;
      entries += 1;
    }
  }
  if (!isNoted)
    faults.push(`No entry has the digest ${noted}: the record ends before it, or it was changed.`);
  return { entries, head: last ?? NO_LINE, torn, faults };
}
