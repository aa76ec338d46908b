import { create } from '@bufbuild/protobuf';
import {
  CallTermsSchema,
  type ToolCallDispatched,
  ToolCallRequeuedSchema,
} from '../../gen/spindle/v1/event_pb.ts';
import { afterDispatch, endAttempt, finish } from './attempt.ts';
import { type Call, earlier, type Lease, totalDeadline } from './call.ts';
import type { LoseLease, Placement, RejectLease } from './command.ts';
import { about, type Draft, journalData } from './event.ts';
import { requeued } from './evolve.ts';
import { MAX_REJECT_REASON_CHARS, MAX_REQUEUES } from './limits.ts';
import { policyMessage } from './policy.ts';
import { happened, NOTHING, type Ruling } from './ruling.ts';
import type { Session } from './session.ts';
import { type Instant, timestamp } from './time.ts';

/** The dispatch of a call that waits. Where its arguments must match and do not, the call ends instead (1.2). */
export function place(call: Call, placement: Placement, at: Instant): Draft {
  const { recheck } = placement;
  const terms = recheck?.terms;
  const { policy, requireValidInput } = terms ?? call;
  if (recheck?.inputFailure !== undefined && requireValidInput) {
    return finish(call, { error: recheck.inputFailure });
  }
  const { runTimeout } = policy;
  const total = totalDeadline(terms === undefined ? call : { ...call, policy });
  const until = earlier(runTimeout === undefined ? undefined : at + runTimeout, total);
  const value: ToolCallDispatched = {
    $typeName: 'spindle.v1.ToolCallDispatched',
    callId: call.callId,
    attempt: call.attempt,
    workerName: placement.workerName,
    deadline: until === undefined ? undefined : timestamp(until),
    toolDigest: recheck?.toolDigest ?? '',
    input: recheck?.input,
    terms: terms && create(CallTermsSchema, { ...terms, policy: policyMessage(terms.policy) }),
  };
  const journal = journalData({
    leaseToken: placement.leaseToken,
    workerInstanceId: placement.instanceId,
    workerStreamNumber: placement.streamNumber,
  });
  return { kind: { case: 'toolCallDispatched', value }, journal };
}

/** The call and the lease that a token names; undefined for a token of nobody's. */
export function leaseOf(session: Session, token: string): { call: Call; lease: Lease } | undefined {
  for (const call of session.calls.values()) {
    const lease = call.leases.find((candidate) => candidate.token === token);
    if (lease !== undefined) return { call, lease };
  }
  return undefined;
}

/**
 * A dispatch that came back unstarted is not charged: the same attempt waits again. The last return that the
 * bound allows ends the attempt as well (4.3).
 */
export function returned(session: Session, command: RejectLease | LoseLease, reason: string): Ruling {
  const held = leaseOf(session, command.leaseToken);
  if (held?.lease.state.kind !== 'running') return NOTHING;
  const { call, lease } = held;
  if (command.kind === 'reject' && lease.instanceId !== command.instanceId) return NOTHING;
  const value = create(ToolCallRequeuedSchema, { callId: call.callId, attempt: call.attempt, reason });
  const back: Draft = { kind: { case: 'toolCallRequeued', value }, journal: about(lease) };
  const after = requeued(call, reason, command.at);
  if (after.requeues < MAX_REQUEUES) return happened(back);
  const what = `${call.name} was not started: it came back from workers ${after.requeues} times, ${whyBack(command)}.`;
  const end = { failure: afterDispatch(after, 'rejected', what), retryable: true, answered: false };
  return happened(back, endAttempt(after, end, command.at, command.draw));
}

/** Why the last one came back, for whoever has to mend it: in the worker's own words, where it had some. */
function whyBack(command: RejectLease | LoseLease): string {
  if (command.kind === 'lose') return 'the last time because its worker never had it';
  const words = command.reason
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replace(/\.$/, '');
  if (words === '') return 'the last time without a reason';
  const most = MAX_REJECT_REASON_CHARS;
  return `the last time because: ${words.length > most ? `${words.slice(0, most - 1)}…`.toWellFormed() : words}`;
}

/** A dispatch that may have run, and will not be answered (4.6). */
export function lost(session: Session, command: LoseLease): Ruling {
  const held = leaseOf(session, command.leaseToken);
  if (held?.lease.state.kind !== 'running') return NOTHING;
  const { call, lease } = held;
  const error = afterDispatch(call, 'outcome_unknown', `The worker that ran ${call.name} was lost.`);
  const end = { failure: error, retryable: call.safeToRepeat, answered: false };
  return happened(endAttempt(call, end, command.at, command.draw, lease));
}
