import type { JournalErrorKind, JournalFault } from './ports.ts';

/** Why the journal or the blob store could not do what it was asked; undefined for any other error. */
export function faultKind(error: unknown): JournalErrorKind | undefined {
  return error instanceof Error && error.name === 'JournalError' ? (error as JournalFault).kind : undefined;
}

/** There was no room, nothing was written, and a later try may succeed. */
export function hasNoRoom(error: unknown): boolean {
  const kind = faultKind(error);
  return kind === 'full' || kind === 'overloaded';
}
