import type { JournalData, SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { Lease } from './call.ts';
import type { Session } from './session.ts';
import { type Instant, timestamp } from './time.ts';

export type EventKind = SessionEvent['kind'];

/** An event before it has its place in the log. */
export interface Draft {
  readonly kind: EventKind;
  readonly journal?: JournalData | undefined;
  /** The turn that it belongs to, where that is not the running one. */
  readonly turnId?: string;
}

/** Gives drafts their place in the log. */
export function record(session: Session, at: Instant, drafts: readonly Draft[]): SessionEvent[] {
  const occurredAt = timestamp(at);
  const running = session.conversation?.turn?.turnId ?? '';
  return drafts.map(({ kind, journal, turnId = running }, index) => ({
    $typeName: 'spindle.v1.SessionEvent',
    sessionId: session.sessionId,
    sequence: session.sequence + 1 + index,
    occurredAt,
    turnId,
    kind,
    journal,
  }));
}

/** Says which dispatch an event is about. */
export function about(lease: Pick<Lease, 'token'> | undefined): JournalData | undefined {
  return lease === undefined ? undefined : journalData({ leaseToken: lease.token });
}

/**
 * What the journal alone needs. Messages that every call makes are written as literals like this one: the compiler
 * asks for each field, and they cost a fraction of what `create` takes, in time and in memory.
 */
export function journalData(given: Partial<JournalData>): JournalData {
  return {
    $typeName: 'spindle.v1.JournalData',
    leaseToken: given.leaseToken ?? '',
    workerInstanceId: given.workerInstanceId ?? '',
    workerStreamNumber: given.workerStreamNumber ?? 0,
    traceContext: given.traceContext ?? NO_TRACE_CONTEXT,
    caller: given.caller,
  };
}

/** Shared: an event is never changed. */
const NO_TRACE_CONTEXT: JournalData['traceContext'] = {};
