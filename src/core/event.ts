import { create } from '@bufbuild/protobuf';
import {
  type JournalData,
  JournalDataSchema,
  type SessionEvent,
  SessionEventSchema,
} from '../../gen/spindle/v1/event_pb.ts';
import type { Lease } from './call.ts';
import type { Session } from './session.ts';
import { type Instant, timestamp } from './time.ts';

export type EventKind = SessionEvent['kind'];

/** An event before it has its place in the log. */
export interface Draft {
  readonly kind: EventKind;
  readonly journal?: JournalData | undefined;
}

/** Gives drafts their place in the log. */
export function record(session: Session, at: Instant, drafts: readonly Draft[]): SessionEvent[] {
  const occurredAt = timestamp(at);
  return drafts.map((draft, index) =>
    create(SessionEventSchema, {
      sessionId: session.sessionId,
      sequence: session.sequence + 1 + index,
      occurredAt,
      kind: draft.kind,
      ...(draft.journal === undefined ? {} : { journal: draft.journal }),
    }),
  );
}

/** Says which dispatch an event is about. */
export function about(lease: Pick<Lease, 'token'> | undefined): JournalData | undefined {
  return lease === undefined ? undefined : create(JournalDataSchema, { leaseToken: lease.token });
}
