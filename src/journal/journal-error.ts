import type { JournalErrorKind, JournalFault } from '../engine/ports.ts';

/**
 * What the journal and the blob store reject with. The message says what happened, to which file, and what to
 * do; it holds no value of an event (9.4).
 */
export class JournalError extends Error implements JournalFault {
  override readonly name = 'JournalError';
  readonly kind: JournalErrorKind;
  readonly written: JournalFault['written'];

  constructor(kind: JournalErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    // Only a commit that broke off leaves it open whether the disk has the events (7.4).
    this.written = kind === 'failed' ? 'unknown' : 'nothing';
  }
}

/** The text of whatever was thrown, for the end of a message. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
