import type { SessionEvent, ToolCallFinished, ToolCallRequested } from '../../gen/spindle/v1/event_pb.ts';
import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import { ToolHandler } from '../../gen/spindle/v1/tool_pb.ts';
import { activityName, type TraceOrigin } from '../core/activity.ts';
import { isConnectorInstance } from '../core/connector-instance.ts';
import { MAX_MOMENTS } from '../core/limits.ts';
import { type Instant, millisOf } from '../core/time.ts';
import { type ActivityEnd, type AttemptActivity, addMoment, type CallActivity } from './activity.ts';

/** A call that has not ended, with its attempt. */
export interface OpenCall {
  readonly activity: CallActivity;
  /** The attempt that a worker has had; undefined before that. */
  attempt: AttemptActivity | undefined;
  /** Its queue clock runs from here; undefined while it stands still (4.4). */
  waitsFrom: Instant | undefined;
  /** It waits for its turn behind a sequential call, and its queue clock with it (6.2). */
  isHeld: boolean;
}

export interface CallPlace {
  readonly origin: TraceOrigin;
  readonly parent: string | undefined;
  readonly sessionId: string;
  readonly agentId: string;
}

export function openCall(requested: ToolCallRequested, at: Instant, place: CallPlace): OpenCall {
  const { callId, name, toolDigest, input } = requested;
  const activity: CallActivity = {
    kind: 'call',
    name: activityName.call(callId),
    parent: place.parent,
    origin: place.origin,
    sessionId: place.sessionId,
    agentId: place.agentId,
    startedAt: at,
    endedAt: undefined,
    end: undefined,
    moments: [],
    callId,
    toolName: name,
    isDeclared: toolDigest !== '',
    requested,
    input,
    attempts: 0,
    queuedFor: 0,
    waits: [],
    result: undefined,
  };
  return { activity, attempt: undefined, waitsFrom: needsWorker(requested) ? at : undefined, isHeld: false };
}

function needsWorker({ handler }: ToolCallRequested): boolean {
  return handler === ToolHandler.WORKER || handler === ToolHandler.CONNECTOR;
}

/** Lets the calls of a turn wait behind each other as the order of the response says, or go on (6.2). */
export function holdBack(calls: Iterable<OpenCall>, at: Instant): void {
  const before: OpenCall[] = [];
  for (const call of calls) {
    const { requested } = call.activity;
    const isHeld = before.some((other) => requested.sequential || other.activity.requested.sequential);
    if (call.attempt === undefined && needsWorker(requested) && isHeld !== call.isHeld) {
      if (isHeld) stopWaiting(call, at);
      else call.waitsFrom = at;
      call.isHeld = isHeld;
    }
    before.push(call);
  }
}

/** What hears of an attempt or a call that has ended. */
export type CallEnded = (activity: CallActivity | AttemptActivity) => void;

/** Takes an event of the call; true once the call has ended. */
export function advanceCall(
  call: OpenCall,
  { kind, journal }: Pick<SessionEvent, 'kind' | 'journal'>,
  at: Instant,
  ended: CallEnded,
): boolean {
  const { activity } = call;
  switch (kind.case) {
    case 'toolCallDispatched': {
      const { attempt, workerName, toolDigest, input } = kind.value;
      stopWaiting(call, at);
      if (toolDigest !== '') activity.isDeclared = true;
      if (input !== undefined) activity.input = input;
      if (call.attempt?.attempt !== attempt) call.attempt = openAttempt(activity, attempt, at);
      call.attempt.workerName = workerName;
      call.attempt.isConnector = isConnectorInstance(journal?.workerInstanceId ?? '');
      return false;
    }
    case 'toolCallRequeued': {
      const { attempt, reason } = kind.value;
      call.waitsFrom = at;
      addMoment(activity, { at, name: 'requeued', facts: { attempt, reason } });
      return false;
    }
    case 'toolCallDeferred':
      addMoment(activity, { at, name: 'deferred', facts: {} });
      return false;
    case 'toolCallAttemptFailed': {
      const { attempt, error, backoff } = kind.value;
      stopWaiting(call, at);
      endAttempt(call, endOfFailure(error), at, ended);
      const wait = backoff === undefined ? 0 : millisOf(backoff);
      call.waitsFrom = at + wait;
      const facts = { attempt, code: error?.code ?? '', backoffMs: wait };
      addMoment(activity, { at, name: 'attempt_failed', facts });
      return false;
    }
    case 'toolCallFinished': {
      stopWaiting(call, at);
      const end = endOfCall(kind.value);
      endAttempt(call, end, at, ended);
      activity.attempts = kind.value.attempts;
      activity.result = kind.value.outcome.case === 'result' ? kind.value.outcome.value : undefined;
      activity.end = end;
      activity.endedAt = at;
      ended(activity);
      return true;
    }
    case 'interruptRaised':
      addMoment(activity, { at, name: 'interrupt_raised', facts: { interruptId: kind.value.interruptId } });
      stopWaiting(call, at);
      return false;
    case 'interruptResumed':
      if (needsWorker(activity.requested) && !call.isHeld) call.waitsFrom = at;
      addMoment(activity, {
        at,
        name: 'interrupt_resumed',
        facts: { interruptId: kind.value.interruptId },
      });
      return false;
    case 'subagentStarted': {
      const { sessionId, agentId } = kind.value;
      addMoment(activity, { at, name: 'subagent_started', facts: { sessionId, agentId } });
      return false;
    }
    default:
      // A checkpoint or a late answer changes nothing that is shown.
      return false;
  }
}

function openAttempt(call: CallActivity, attempt: number, at: Instant): AttemptActivity {
  return {
    kind: 'attempt',
    name: activityName.attempt(call.callId, attempt),
    parent: call.name,
    origin: call.origin,
    sessionId: call.sessionId,
    startedAt: at,
    endedAt: undefined,
    end: undefined,
    moments: [],
    callId: call.callId,
    toolName: call.toolName,
    isDeclared: call.isDeclared,
    attempt,
    workerName: '',
    isConnector: false,
  };
}

/** A backoff that is not over when the call ends has not been waited. */
function stopWaiting(call: OpenCall, at: Instant): void {
  const from = call.waitsFrom;
  call.waitsFrom = undefined;
  if (from === undefined || from >= at) return;
  call.activity.queuedFor += at - from;
  if (call.activity.waits.length < MAX_MOMENTS) call.activity.waits.push({ from, until: at });
}

function endAttempt(call: OpenCall, end: ActivityEnd, at: Instant, ended: CallEnded): void {
  const { attempt } = call;
  if (attempt === undefined || attempt.endedAt !== undefined) return;
  attempt.end = end;
  attempt.endedAt = at;
  ended(attempt);
}

function endOfCall({ outcome }: ToolCallFinished): ActivityEnd {
  if (outcome.case === 'error') return endOfFailure(outcome.value);
  // The tool says itself that it failed; its words are content, which stays out (8.5).
  if (outcome.value?.isError === true) return { kind: 'failed', code: 'tool_error', message: '' };
  return { kind: 'succeeded' };
}

/** Cancelled by a person and denied are ends like others, not faults (8.4). */
export function endOfFailure(failure: Failure | undefined): ActivityEnd {
  const { code = 'internal', message = '' } = failure ?? {};
  if (code === 'cancelled') return { kind: 'cancelled' };
  if (code === 'denied') return { kind: 'denied' };
  return { kind: 'failed', code, message };
}
