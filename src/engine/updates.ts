import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Call as CallMessage, CallSchema, CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import type { SessionEvent, ToolCallFinished } from '../../gen/spindle/v1/event_pb.ts';
import {
  type CallToolResponse,
  type CallUpdate,
  CallUpdateSchema,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { type Call, earlier, lastLease, totalDeadline } from '../core/call.ts';
import { directCallOf } from '../core/session.ts';
import { type Instant, timestamp } from '../core/time.ts';
import { unreachable } from '../core/unreachable.ts';

/** What an event tells those who watch its call; undefined where it tells them nothing. */
export function updateOf({ kind }: SessionEvent): CallUpdate | undefined {
  switch (kind.case) {
    case 'toolCallRequested':
      return update(kind.value.callId, { case: 'queued', value: {} });
    case 'toolCallRequeued':
      return update(kind.value.callId, { case: 'queued', value: {} });
    case 'toolCallDispatched': {
      const { callId, attempt, workerName } = kind.value;
      return update(callId, {
        case: 'started',
        value: { attempt, workerName },
      });
    }
    case 'toolCallAttemptFailed': {
      const { callId, attempt, error, backoff } = kind.value;
      const value = { attempt, error, backoff };
      return update(callId, { case: 'retrying', value });
    }
    case 'toolCallDeferred': {
      const { callId, deadline } = kind.value;
      return update(callId, { case: 'open', value: { deadline } });
    }
    case 'interruptRaised': {
      const { callId, interruptId, reason } = kind.value;
      const value = { interruptId, reason };
      return callId === '' ? undefined : update(callId, { case: 'interrupted', value });
    }
    case 'toolCallFinished':
      return finishedUpdate(kind.value);
    default:
      return undefined;
  }
}

function update(
  callId: string,
  kind: NonNullable<MessageInitShape<typeof CallUpdateSchema>['kind']>,
): CallUpdate {
  return create(CallUpdateSchema, { callId, kind });
}

/** The update that every call makes: a literal costs a fraction of what `create` takes. */
function finishedUpdate(end: ToolCallFinished): CallUpdate {
  return {
    $typeName: 'spindle.v1.CallUpdate',
    callId: end.callId,
    kind: { case: 'finished', value: endOf(end) },
  };
}

/** How a call ended, in the form that callers get. */
export function endOf({ callId, attempts, outcome }: ToolCallFinished): CallToolResponse {
  return { $typeName: 'spindle.v1.CallToolResponse', callId, attempts, outcome };
}

/** The newest update of a call, from its state: what a watcher hears first. */
export function standing(call: Call, now: Instant): CallUpdate {
  const { callId, phase } = call;
  switch (phase.kind) {
    case 'held':
    case 'waiting': {
      // A retry that waits is told as such only while it happens: its failure is not part of the state.
      return update(callId, { case: 'queued', value: {} });
    }
    case 'dispatched': {
      const { attempt } = call;
      const workerName = lastLease(call)?.workerName ?? '';
      return update(callId, {
        case: 'started',
        value: { attempt, workerName },
      });
    }
    case 'open': {
      const deadline = deadlineOf(call, now);
      const value = deadline === undefined ? {} : { deadline: timestamp(deadline) };
      return update(callId, { case: 'open', value });
    }
    case 'interrupted': {
      const { interruptId, reason } = phase;
      const value = { interruptId, reason };
      return update(callId, { case: 'interrupted', value });
    }
    case 'finished':
      return finishedUpdate(phase.end);
    default:
      return unreachable(phase);
  }
}

/** A call as clients read it. */
export function callMessage(sessionId: string, call: Call, now: Instant): CallMessage {
  const { phase } = call;
  const deadline = deadlineOf(call, now);
  return create(CallSchema, {
    sessionId: directCallOf(sessionId) === undefined ? sessionId : '',
    callId: call.callId,
    name: call.name,
    arguments: call.arguments,
    status: statusOf(call, now),
    attempt: phase.kind === 'finished' ? phase.end.attempts : call.attempt,
    requestedAt: timestamp(call.requestedAt),
    ...(deadline === undefined ? {} : { deadline: timestamp(deadline) }),
    ...(phase.kind === 'finished' ? { outcome: phase.end.outcome } : {}),
  });
}

function statusOf({ phase }: Call, now: Instant): CallStatus {
  switch (phase.kind) {
    case 'held':
      return CallStatus.QUEUED;
    case 'waiting':
      return phase.from > now ? CallStatus.BACKING_OFF : CallStatus.QUEUED;
    case 'dispatched':
      return CallStatus.RUNNING;
    case 'open':
      return CallStatus.OPEN;
    case 'interrupted':
      return CallStatus.INTERRUPTED;
    case 'finished':
      return CallStatus.UNSPECIFIED;
    default:
      return unreachable(phase);
  }
}

/** When a call's attempt, its wait or its total time is over, whichever comes first. */
function deadlineOf(call: Call, now: Instant): Instant | undefined {
  const { phase } = call;
  if (phase.kind === 'finished') return undefined;
  const own =
    phase.kind === 'dispatched' || phase.kind === 'open'
      ? phase.until
      : phase.kind === 'waiting' && phase.from > now
        ? phase.from
        : undefined;
  return earlier(own, totalDeadline(call));
}
