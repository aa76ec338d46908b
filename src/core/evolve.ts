import type {
  JournalData,
  SessionEvent,
  ToolCallAttemptFailed,
  ToolCallDispatched,
  ToolCallFinished,
  ToolCallRequested,
} from '../../gen/spindle/v1/event_pb.ts';
import { CancelReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Call, Lease, LeaseState, Terms } from './call.ts';
import { evolveConversation } from './loop/evolve-conversation.ts';
import { policyOf } from './policy.ts';
import { type Session, withCall } from './session.ts';
import { type Instant, instantOf, millisOf } from './time.ts';

/** What an event means: the session after it. */
export function evolve(session: Session, event: SessionEvent): Session {
  const occurredAt = event.occurredAt === undefined ? session.occurredAt : instantOf(event.occurredAt);
  const call = evolveCall(session, event, occurredAt);
  const calls = call === undefined ? session.calls : withCall(session.calls, call);
  const { sessionId, conversation } = session;
  const after = { sessionId, sequence: event.sequence, occurredAt, calls, conversation };
  // A direct call is all that there is to its session.
  return conversation === undefined && event.kind.case !== 'sessionCreated'
    ? after
    : evolveConversation(after, event, occurredAt);
}

function evolveCall(session: Session, { kind, journal }: SessionEvent, at: Instant): Call | undefined {
  if (kind.case === 'toolCallRequested') return requestedCall(kind.value, journal, at);
  if (kind.value === undefined || !('callId' in kind.value)) return undefined;
  const call = session.calls.get(kind.value.callId);
  if (call === undefined) return undefined;
  const token = journal?.leaseToken ?? '';
  switch (kind.case) {
    case 'toolCallDispatched':
      return dispatched(call, kind.value, journal, at);
    case 'toolCallRequeued':
      return requeued(call, kind.value.reason, at);
    case 'toolCallCheckpointed':
      return { ...call, checkpoint: kind.value.checkpoint };
    case 'toolCallDeferred': {
      const until = kind.value.deadline === undefined ? undefined : instantOf(kind.value.deadline);
      return { ...call, phase: { kind: 'open', until }, leases: marked(call, token, { kind: 'deferred' }) };
    }
    case 'toolCallAttemptFailed':
      return attemptFailed(call, kind.value, at);
    case 'toolCallFinished':
      return finished(call, kind.value, token);
    case 'toolCallLateAnswer':
      return { ...call, leases: marked(call, token, { kind: 'late' }) };
    case 'interruptRaised': {
      const { interruptId, reason } = kind.value;
      const waited = call.phase.kind === 'dispatched' ? call.phase.waited : 0;
      const phase = { kind: 'interrupted', interruptId, reason, from: at, waited } as const;
      const interruptIds = [...call.interruptIds, interruptId];
      return { ...call, phase, interruptIds, leases: marked(call, token, { kind: 'answered' }) };
    }
    case 'interruptResumed':
      return { ...call, resumed: kind.value };
    default:
      // Events of a conversation mean nothing to its calls.
      return undefined;
  }
}

/** The call as it stands right after its request. */
export function requestedCall(value: ToolCallRequested, journal: JournalData | undefined, at: Instant): Call {
  return {
    callId: value.callId,
    name: value.name,
    arguments: value.arguments,
    toolDigest: value.toolDigest,
    input: value.input,
    policy: policyOf(value.policy),
    safeToRepeat: value.safeToRepeat,
    requireValidInput: value.requireValidInput,
    handler: value.handler,
    sequential: value.sequential,
    endsTurn: value.endsTurn,
    ownTerms: value.ownTerms,
    caller: journal?.caller,
    traceContext: journal?.traceContext ?? {},
    requestedAt: at,
    pausedFor: 0,
    attempt: 1,
    requeues: 0,
    phase: { kind: 'waiting', from: at, waited: 0 },
    leases: [],
    checkpoint: undefined,
    resumed: undefined,
    interruptIds: [],
  };
}

function dispatched(
  call: Call,
  value: ToolCallDispatched,
  journal: JournalData | undefined,
  at: Instant,
): Call {
  const lease: Lease = {
    token: journal?.leaseToken ?? '',
    attempt: value.attempt,
    instanceId: journal?.workerInstanceId ?? '',
    streamNumber: journal?.workerStreamNumber ?? 0,
    workerName: value.workerName,
    toolDigest: value.toolDigest,
    input: value.input,
    state: { kind: 'running' },
  };
  const until = value.deadline === undefined ? undefined : instantOf(value.deadline);
  const waited = call.phase.kind === 'waiting' ? call.phase.waited + Math.max(at - call.phase.from, 0) : 0;
  const phase = { kind: 'dispatched', from: at, until, waited } as const;
  return { ...call, ...termsOf(value), phase, leases: [...call.leases, lease] };
}

/** What the dispatch of a tool that had not been declared settles (4.1, 4.2). */
function termsOf({ terms }: ToolCallDispatched): (Terms & Pick<Call, 'ownTerms'>) | undefined {
  if (terms === undefined) return undefined;
  const { policy, safeToRepeat, requireValidInput } = terms;
  return { policy: policyOf(policy), safeToRepeat, requireValidInput, ownTerms: undefined };
}

/** The same attempt waits again; its queue clock goes on where it stood (4.3). */
export function requeued(call: Call, reason: string, at: Instant): Call {
  if (reason === 'resumed') {
    const { phase } = call;
    const paused = phase.kind === 'interrupted' ? at - phase.from : 0;
    const waited = phase.kind === 'interrupted' ? phase.waited : 0;
    return { ...call, pausedFor: call.pausedFor + paused, phase: { kind: 'waiting', from: at, waited } };
  }
  const waited = call.phase.kind === 'dispatched' ? call.phase.waited : 0;
  return {
    ...call,
    requeues: call.requeues + 1,
    phase: { kind: 'waiting', from: at, waited },
    leases: ended(call, { kind: 'returned' }),
  };
}

function attemptFailed(call: Call, value: ToolCallAttemptFailed, at: Instant): Call {
  const from = at + (value.backoff === undefined ? 0 : millisOf(value.backoff));
  return {
    ...call,
    attempt: value.attempt + 1,
    requeues: 0,
    resumed: undefined,
    phase: { kind: 'waiting', from, waited: 0 },
    leases: ended(call, value.answered ? { kind: 'answered' } : givenUp(value.error?.code)),
  };
}

function finished(call: Call, end: ToolCallFinished, token: string): Call {
  const answered = marked(call, token, { kind: 'answered' });
  const code = end.outcome.case === 'error' ? end.outcome.value.code : undefined;
  return { ...call, phase: { kind: 'finished', end }, leases: ended({ leases: answered }, givenUp(code)) };
}

/** What to tell a worker whose dispatch the engine ended. */
function givenUp(code: string | undefined): LeaseState {
  if (code === 'cancelled') return { kind: 'given_up', stop: CancelReason.CANCELLED };
  const deadline = code === 'run_timeout' || code === 'total_timeout' || code === 'heartbeat_timeout';
  return { kind: 'given_up', stop: deadline ? CancelReason.DEADLINE : CancelReason.SUPERSEDED };
}

/** The leases after one of them, named by its token, got into another state. */
function marked(call: Pick<Call, 'leases'>, token: string, state: LeaseState): readonly Lease[] {
  return call.leases.map((lease) => (lease.token === token ? { ...lease, state } : lease));
}

/** The leases after the running one, if there is one, ended. */
function ended(call: Pick<Call, 'leases'>, state: LeaseState): readonly Lease[] {
  return call.leases.map((lease) => (lease.state.kind === 'running' ? { ...lease, state } : lease));
}
