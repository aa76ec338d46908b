import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import { afterDispatch, endAttempt, finish } from './attempt.ts';
import { type Call, earlier, lastLease, queueDeadline, totalDeadline } from './call.ts';
import type { Heard, Tick } from './command.ts';
import type { Draft } from './event.ts';
import type { FailureCode } from './failure.ts';
import { conversationWakeup } from './loop/timers.ts';
import { type Session, timeIn } from './session.ts';
import type { Instant } from './time.ts';
import { unreachable } from './unreachable.ts';

/** When to look at a session again: the next clock that runs out, or the end of a wait (4.4). */
export function wakeup(session: Session, now: Instant, heard: Heard): Instant | undefined {
  const at = timeIn(session, now);
  let next: Instant | undefined;
  for (const call of session.calls.values()) next = earlier(next, callWakeup(call, at, heard));
  return session.conversation === undefined ? next : earlier(next, conversationWakeup(session, at));
}

function callWakeup(call: Call, now: Instant, heard: Heard): Instant | undefined {
  const { phase } = call;
  switch (phase.kind) {
    case 'waiting':
      if (phase.from > now) return earlier(phase.from, totalDeadline(call));
      return earlier(queueDeadline(call), totalDeadline(call));
    case 'dispatched':
      return earlier(earlier(phase.until, heartbeatDeadline(call, heard)), totalDeadline(call));
    case 'open':
      return earlier(phase.until, totalDeadline(call));
    case 'held':
    case 'interrupted':
    case 'finished':
      return undefined;
    default:
      return unreachable(phase);
  }
}

/** When a running attempt has been silent for too long; undefined while its worker is away. */
function heartbeatDeadline(call: Call, heard: Heard): Instant | undefined {
  const { heartbeatTimeout } = call.policy;
  const lease = lastLease(call);
  if (heartbeatTimeout === undefined || lease === undefined || call.phase.kind !== 'dispatched')
    return undefined;
  const last = heard.get(lease.token) ?? call.phase.from;
  return last === 'away' ? undefined : last + heartbeatTimeout;
}

/** What the passing of time does to one call; undefined where no clock of it has run out. */
export function expire(call: Call, { at, draw, heard }: Tick): Draft | undefined {
  const { phase } = call;
  if (phase.kind === 'held' || phase.kind === 'interrupted' || phase.kind === 'finished') return undefined;
  if (isOver(totalDeadline(call), at)) {
    return finish(call, {
      error: timeout(call, 'total_timeout', "did not end within the call's total time."),
    });
  }
  if (phase.kind === 'waiting') {
    if (!isOver(queueDeadline(call), at)) return undefined;
    const error = timeout(call, 'queue_timeout', 'was not started: no worker was free in time.');
    return endAttempt(call, { failure: error, retryable: true, answered: false }, at, draw);
  }
  if (isOver(phase.until, at)) return giveUp(call, at, draw, 'run_timeout', 'did not finish in time.');
  if (isOver(heartbeatDeadline(call, heard), at)) {
    return giveUp(call, at, draw, 'heartbeat_timeout', 'stopped reporting while it ran.');
  }
  return undefined;
}

function giveUp(call: Call, at: Instant, draw: number, code: FailureCode, what: string): Draft {
  const end = { failure: timeout(call, code, what), retryable: call.safeToRepeat, answered: false };
  return endAttempt(call, end, at, draw, lastLease(call));
}

function timeout(call: Call, code: FailureCode, what: string): Failure {
  return afterDispatch(call, code, `${call.name} ${what}`);
}

/** A clock has run out. One that does not exist never does. */
export function isOver(deadline: Instant | undefined, at: Instant): boolean {
  return deadline !== undefined && deadline <= at;
}
