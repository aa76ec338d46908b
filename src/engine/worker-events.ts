import { create } from '@bufbuild/protobuf';
import type { Decision } from '../../gen/spindle/v1/action_pb.ts';
import { type Delta, DeltaSchema } from '../../gen/spindle/v1/message_pb.ts';
import { type Progress, ProgressSchema } from '../../gen/spindle/v1/progress_pb.ts';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type { Answer } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Call, Lease } from '../core/call.ts';
import { failure } from '../core/failure.ts';
import { leaseOf } from '../core/lease.ts';
import { CHECKPOINT_INTERVAL_MS, MAX_CHECKPOINT_BYTES } from '../core/limits.ts';
import { sessionOfLease, timeIn } from '../core/session.ts';
import { readAnswer } from './answers.ts';
import { proposedFailure } from './dispatch.ts';
import type { Effects } from './effects.ts';
import type { Shared } from './engine.ts';
import { hasNoRoom } from './journal-fault.ts';
import { type SplitAnswer, splitDecision } from './loop/answer-decision.ts';
import type { ConversationEffects } from './loop/conversation-effects.ts';
import { decisionContentFault } from './loop/decision-content.ts';
import { storeDecision } from './loop/message-bytes.ts';
import type { WorkerRef } from './ports.ts';
import type { SessionRunner } from './session-runner.ts';

/** Turns what workers do into commands for the sessions that their leases belong to. */
export function listenToWorkers(
  shared: Shared,
  effects: Effects,
  { asking, offer }: ConversationEffects,
): void {
  const { options, sessions, definitions } = shared;
  const { clock, random, workers, schemas, blobs, observer } = options;

  const live = (tenant: string, leaseToken: string): SessionRunner | undefined =>
    sessions.live({ tenant, sessionId: sessionOfLease(leaseToken) ?? '' });

  const acknowledge = (from: WorkerRef, leaseToken: string, verdict: AnswerVerdict, reason: string): void =>
    workers.acknowledge(from.tenant, from.instanceId, leaseToken, verdict, reason);

  /** Nothing is acknowledged that is not durable: the worker keeps its answer and sends it again. */
  const unanswerable = (leaseToken: string, error: unknown): void =>
    observer.report('error', 'answer_not_recorded', {
      lease_session: sessionOfLease(leaseToken) ?? '',
      error: String(error),
    });

  /** It never will be: the worker need not bring it again. */
  const unrecordable = (from: WorkerRef, leaseToken: string): void =>
    acknowledge(from, leaseToken, AnswerVerdict.STALE, 'the record of this call is damaged');

  /** @param retry the session may have moved, so that its log is asked once more */
  const answer = (
    from: WorkerRef,
    frame: Answer,
    runner: SessionRunner,
    held: Held,
    retry: boolean,
  ): void => {
    const { leaseToken } = frame;
    const definition = definitions.cached(from.tenant, digestOf(held));
    const split = frame.outcome.case === 'decision' ? splitOf(from, frame, runner, held) : undefined;
    const read = readAnswer(split === undefined ? frame : { ...frame, outcome: split.outcome }, {
      schemas,
      blobs,
      tenant: from.tenant,
      definition,
      proposed: proposedFailure(held.call, held.lease),
      newId: random.token,
    });
    const send = (said: Awaited<typeof read>, amendment?: Decision): void => {
      const { instanceId } = from;
      const command = {
        kind: 'answer',
        at: clock.now(),
        leaseToken,
        instanceId,
        answer: said,
        amendment,
        draw: random.draw(),
      } as const;
      runner.send(command, (outcome) => {
        const ruling = outcome.ok ? outcome.value.answer : undefined;
        if (ruling !== undefined) acknowledge(from, leaseToken, ruling.verdict, ruling.reason);
        // The log knows what became of the call; the worker would not say it again on this stream (5.7, 7.3).
        else if (!outcome.ok && outcome.refusal.reason === 'session_moved' && retry && !shared.stopping)
          answerFromLog(from, frame, false);
        else if (!outcome.ok && outcome.refusal.reason === 'session_damaged') unrecordable(from, leaseToken);
        else if (!outcome.ok) unanswerable(leaseToken, outcome.refusal.reason);
      });
    };
    const unstored = (error: unknown): void => {
      // Without room for the bytes there is no result; waiting for room would hold the call up for nothing.
      if (hasNoRoom(error)) send({ kind: 'failure', failure: NO_ROOM });
      else unanswerable(leaseToken, error);
    };
    if (split?.amendment !== undefined) {
      const fault = decisionContentFault(schemas, split.amendment);
      if (fault !== undefined) send({ kind: 'unfit', reason: fault });
      else {
        Promise.all([read, storeDecision(split.amendment, from.tenant, blobs)]).then(
          ([said, amendment]) => send(said, amendment),
          unstored,
        );
      }
    } else if (read instanceof Promise) read.then((said) => send(said), unstored);
    else send(read);
  };

  /** What a decision of a bound worker says of its own call, and beside it (5.12). */
  const splitOf = (
    from: WorkerRef,
    { outcome }: Answer,
    runner: SessionRunner,
    { call }: Held,
  ): SplitAnswer => {
    const { conversation } = runner.session;
    const mayDecide =
      conversation !== undefined && workers.isBound(from.tenant, from.instanceId, conversation.agentId);
    return outcome.case === 'decision' && mayDecide
      ? splitDecision(outcome.value, call.callId)
      : { outcome, amendment: undefined };
  };

  /** An answer for a session that is not in memory: it ended, or never was. */
  const answerLate = async (from: WorkerRef, frame: Answer, retry: boolean): Promise<void> => {
    const { tenant } = from;
    const key = { tenant, sessionId: sessionOfLease(frame.leaseToken) ?? '' };
    const session = key.sessionId === '' ? undefined : await sessions.read(key);
    const known = session && leaseOf(session, frame.leaseToken);
    if (known !== undefined) await definitions.load(tenant, digestOf(known));
    // Only now, so that nobody gives the session back while its definition is read.
    const runner = known && (await sessions.open(key));
    const held = runner && leaseOf(runner.session, frame.leaseToken);
    if (runner !== undefined && held !== undefined) answer(from, frame, runner, held, retry);
    else acknowledge(from, frame.leaseToken, AnswerVerdict.STALE, 'no such dispatch is known');
  };

  function answerFromLog(from: WorkerRef, frame: Answer, retry: boolean): void {
    answerLate(from, frame, retry).catch((error: unknown) => {
      if (shared.refuse(error)?.reason === 'session_damaged') unrecordable(from, frame.leaseToken);
      else unanswerable(frame.leaseToken, error);
    });
  }

  workers.listen({
    declared: (tenant, declared) => definitions.store(tenant, declared),

    answered(from, frame) {
      if (asking.answered(from, frame)) return;
      const runner = live(from.tenant, frame.leaseToken);
      const held = runner && leaseOf(runner.session, frame.leaseToken);
      const digest = held && digestOf(held);
      if (runner !== undefined && held !== undefined && digest !== undefined) {
        if (digest === '' || definitions.cached(from.tenant, digest) !== undefined) {
          answer(from, frame, runner, held, true);
          return;
        }
      }
      answerFromLog(from, frame, true);
    },

    rejected(from, { leaseToken, reason }) {
      if (asking.returned(from, leaseToken, false)) return;
      const { tenant, instanceId } = from;
      const command = {
        kind: 'reject',
        at: clock.now(),
        leaseToken,
        instanceId,
        reason,
        draw: random.draw(),
      } as const;
      live(tenant, leaseToken)?.send(command, () => undefined);
    },

    progressed({ tenant, instanceId }, progress) {
      const runner = live(tenant, progress.leaseToken);
      const held = runner && leaseOf(runner.session, progress.leaseToken);
      if (
        runner === undefined ||
        held?.lease.state.kind !== 'running' ||
        held.lease.instanceId !== instanceId
      )
        return;
      runner.hear(progress.leaseToken, timeIn(runner.session, clock.now()));
      checkpoint(runner, progress);
      // Watchers learn nothing that would let them speak for the worker.
      const { completed, total, activity, partial } = progress;
      runner.progress(held.call.callId, create(ProgressSchema, { completed, total, activity, partial }));
      if (activity !== '') runner.tellDelta(activityDelta(held.call.callId, activity));
    },

    modelDelta: (from, delta) => asking.delta(from, delta),

    lost(from, leaseToken, how) {
      if (asking.returned(from, leaseToken, how === 'lost')) return;
      const { tenant } = from;
      const command = { kind: 'lose', at: clock.now(), leaseToken, how, draw: random.draw() } as const;
      live(tenant, leaseToken)?.send(command, () => undefined);
    },

    away: ({ tenant }, leaseToken, away) => effects.away(tenant, leaseToken, away),
    available(tenant) {
      offer(tenant);
      effects.placeWaiting(tenant);
    },
  });

  /** Kept durably, at most one a second: of those that come faster, the newest is kept (Progress.checkpoint). */
  function checkpoint(runner: SessionRunner, { leaseToken, checkpoint: bytes }: Progress): void {
    if (bytes === undefined || bytes.byteLength > MAX_CHECKPOINT_BYTES) return;
    const pending = runner.pendingCheckpoint;
    runner.pendingCheckpoint = { leaseToken, bytes };
    if (pending !== undefined) return;
    const write = (): void => {
      const newest = runner.pendingCheckpoint;
      runner.pendingCheckpoint = undefined;
      runner.lastCheckpointAt = clock.now();
      if (newest === undefined) return;
      const command = {
        kind: 'checkpoint',
        at: clock.now(),
        leaseToken: newest.leaseToken,
        checkpoint: newest.bytes,
      } as const;
      runner.send(command, () => undefined);
    };
    const due = runner.lastCheckpointAt + CHECKPOINT_INTERVAL_MS;
    if (due <= clock.now()) write();
    else clock.alarm(due, write);
  }
}

/** What a running call is doing, for whoever follows its conversation (6.13). */
function activityDelta(callId: string, activity: string): Delta {
  return create(DeltaSchema, { callId, kind: { case: 'activity', value: activity } });
}

const NO_ROOM = failure('overloaded', 'The engine has no room left for the bytes of the result.', {
  mayHaveTakenEffect: true,
});

interface Held {
  readonly call: Call;
  readonly lease: Lease;
}

/** The definition that a lease was dispatched under. */
function digestOf({ call, lease }: Held): string {
  return lease.toolDigest === '' ? call.toolDigest : lease.toolDigest;
}
