import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import type { Delta } from '../../../gen/spindle/v1/message_pb.ts';
import type { OpenItem } from '../../../gen/spindle/v1/session_service_pb.ts';
import { instantOf } from '../../core/time.ts';

type KindOf = Exclude<SessionEvent['kind'], { case: undefined }>;

/** The names of events in dotted form, as the contract writes them. */
const NAMES = {
  sessionCreated: 'session.created',
  agentUpdated: 'agent.updated',
  stateUpdated: 'state.updated',
  messageRecorded: 'message.recorded',
  turnQueued: 'turn.queued',
  turnStarted: 'turn.started',
  iterationStarted: 'iteration.started',
  turnEnded: 'turn.ended',
  decisionRequested: 'decision.requested',
  decisionRefused: 'decision.refused',
  decisionRecorded: 'decision.recorded',
  modelCallRequested: 'model.call.requested',
  modelCallAttemptFailed: 'model.call.attempt_failed',
  modelCallFinished: 'model.call.finished',
  toolCallRequested: 'tool.call.requested',
  toolCallDispatched: 'tool.call.dispatched',
  toolCallRequeued: 'tool.call.requeued',
  toolCallCheckpointed: 'tool.call.checkpointed',
  toolCallDeferred: 'tool.call.deferred',
  toolCallAttemptFailed: 'tool.call.attempt_failed',
  toolCallFinished: 'tool.call.finished',
  toolCallLateAnswer: 'tool.call.late_answer',
  subagentStarted: 'subagent.started',
  interruptRaised: 'interrupt.raised',
  interruptResumed: 'interrupt.resumed',
} as const satisfies Record<KindOf['case'], string>;

/** Where an event stands. */
export interface EventPlace {
  readonly sessionId: string;
  /** Orders the log: 1, 2, 3, …; the cursor to watch on from. */
  readonly sequence: number;
  /** The turn that it belongs to; empty for what belongs to none. */
  readonly turnId: string;
  readonly occurredAt: Date | undefined;
}

/** An event of the log: what it is, and the message that the contract has for it. */
export type LogEvent = {
  [Kind in KindOf as Kind['case']]: EventPlace & {
    readonly kind: (typeof NAMES)[Kind['case']];
    readonly data: Kind['value'];
  };
}[KindOf['case']];

/** Something that passes and is not kept: after a broken connection some of it is missing. */
export type DeltaEvent = { readonly callId: string } & (
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | {
      readonly kind: 'tool_call';
      readonly toolCallId: string;
      readonly name: string;
      /** More of its arguments. */
      readonly arguments: string;
    }
  /** What a running tool is doing (6.13). */
  | { readonly kind: 'activity'; readonly activity: string }
);

/** What happens to a session. */
export type SessionUpdateEvent = LogEvent | DeltaEvent;

/** The turn waits for somebody, and nothing of it runs. Running the turn on under its id goes on from here. */
export interface PausedEvent {
  readonly kind: 'paused';
  readonly sessionId: string;
  readonly turnId: string;
  /** What it waits for. */
  readonly openItems: readonly OpenItem[];
}

/** What happens in a turn. The last is `turn.ended` or `paused`. */
export type TurnEvent = SessionUpdateEvent | PausedEvent;

/** The event as one reads it; undefined for a kind that this version does not know. */
export function logEventOf(event: SessionEvent): LogEvent | undefined {
  const { sessionId, sequence, turnId, occurredAt, kind } = event;
  if (kind.case === undefined) return undefined;
  const at = occurredAt === undefined ? undefined : new Date(instantOf(occurredAt));
  // The table gives each case its own name, which types cannot follow.
  return {
    kind: NAMES[kind.case],
    data: kind.value,
    sessionId,
    sequence,
    turnId,
    occurredAt: at,
  } as LogEvent;
}

export function deltaEventOf({ callId, kind }: Delta): DeltaEvent | undefined {
  switch (kind.case) {
    case 'text':
    case 'reasoning':
      return { callId, kind: kind.case, text: kind.value };
    case 'toolCall': {
      const { callId: toolCallId, name, arguments: more } = kind.value;
      return { callId, kind: 'tool_call', toolCallId, name, arguments: more };
    }
    case 'activity':
      return { callId, kind: 'activity', activity: kind.value };
    case undefined:
      return undefined;
  }
}
