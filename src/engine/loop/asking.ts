import { create } from '@bufbuild/protobuf';
import type { Decision } from '../../../gen/spindle/v1/action_pb.ts';
import type { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import type { Trigger } from '../../../gen/spindle/v1/trigger_pb.ts';
import {
  type Answer,
  CancelReason,
  type Dispatch,
  DispatchSchema,
  type ModelDelta,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { activityName } from '../../core/activity.ts';
import { MAX_DECISION_DELIVERIES } from '../../core/limits.ts';
import type { Session } from '../../core/session.ts';
import type { Millis } from '../../core/time.ts';
import type { TriggerName } from '../../core/trigger-name.ts';
import type { Shared } from '../engine.ts';
import type { DeciderReservation, WorkerRef } from '../ports.ts';
import type { SessionRunner } from '../session-runner.ts';
import { traceContextFor } from '../trace-context.ts';
import { sessionContext } from './session-context.ts';

/** Something that a worker is asked, at least once until it answers (5.13). */
export interface Question {
  readonly runner: SessionRunner;
  /** The name of the effect that asks: a question is withdrawn with it. */
  readonly name: string;
  readonly triggerName: TriggerName;
  /** Made for each delivery, from the session as it then is. */
  readonly ask: () => { readonly trigger: Trigger; readonly proposed: Decision | undefined };
  readonly decisionId: string;
  /** How long one delivery may take; undefined where somebody else watches the time. */
  readonly timeoutMs: Millis | undefined;
  readonly onAnswer: (answer: Answer, workerName: string, acknowledge: Acknowledge) => void;
  readonly onDelta: (delta: ModelDelta) => void;
  /** Nobody answered as often as it was asked. */
  readonly onGiveUp: (reason: string) => void;
}

export type Acknowledge = (verdict: AnswerVerdict, reason: string) => void;

/** Asks workers that have bound an agent. What it knows follows from the sessions: a restart asks anew. */
export interface Asking {
  ask(question: Question): void;
  withdraw(runner: SessionRunner, name: string): void;
  /** The session is not here any more. */
  drop(runner: SessionRunner): void;
  /** Somebody became free, or bound an agent. */
  offer(tenant: string): void;
  /** Whether a lease is a question's; then the answer has been taken. */
  answered(from: WorkerRef, answer: Answer): boolean;
  returned(from: WorkerRef, leaseToken: string, wasAsked: boolean): boolean;
  delta(from: WorkerRef, delta: ModelDelta): void;
}

interface Asked {
  readonly question: Question;
  deliveries: number;
  lease: DeciderReservation | undefined;
  disarm: (() => void) | undefined;
}

export function createAsking({ options }: Shared): Asking {
  const { workers, clock } = options;
  /** By runner and effect. */
  const open = new Map<SessionRunner, Map<string, Asked>>();
  const leases = new Map<string, Asked>();
  /** Questions that nobody was free for, by tenant. */
  const waiting = new Map<string, Set<Asked>>();

  const forget = (asked: Asked): void => {
    const { runner, name } = asked.question;
    release(asked);
    waiting.get(runner.key.tenant)?.delete(asked);
    const questions = open.get(runner);
    questions?.delete(name);
    if (questions?.size === 0) open.delete(runner);
  };

  const release = (asked: Asked): void => {
    asked.disarm?.();
    asked.disarm = undefined;
    if (asked.lease !== undefined) leases.delete(asked.lease.leaseToken);
    asked.lease = undefined;
  };

  const deliver = (asked: Asked): void => {
    const { question } = asked;
    const { runner, triggerName, decisionId } = question;
    const { tenant, sessionId } = runner.key;
    const { conversation } = runner.session;
    if (conversation === undefined) return;
    const lease = workers.reserveDecider(tenant, conversation.agentId, triggerName, sessionId);
    if (lease === undefined) {
      const queue = waiting.get(tenant) ?? new Set();
      waiting.set(tenant, queue.add(asked));
      return;
    }
    waiting.get(tenant)?.delete(asked);
    asked.lease = lease;
    asked.deliveries += 1;
    leases.set(lease.leaseToken, asked);
    const { trigger, proposed } = question.ask();
    const { turn } = conversation;
    const dispatch: Dispatch = create(DispatchSchema, {
      trigger,
      sessionId,
      turnId: turn?.turnId ?? '',
      agentId: conversation.agentId,
      decisionId,
      traceContext: {
        ...traceContextFor(
          { recorder: options.recorder, key: runner.key, session: runner.session },
          activityAsked(runner.session, triggerName),
        ),
      },
      ...(proposed && { proposed }),
      ...(turn?.origin.caller && { caller: turn.origin.caller }),
    });
    const context = sessionContext(runner.session, lease.context, clock.now());
    if (context !== undefined) dispatch.context = context;
    workers.dispatch(lease.leaseToken, dispatch);
    if (question.timeoutMs !== undefined) {
      asked.disarm = clock.alarm(clock.now() + question.timeoutMs, () => {
        workers.stop(lease.leaseToken, CancelReason.DEADLINE);
        again(asked, 'nobody answered in time');
      });
    }
  };

  /** The delivery came to nothing. */
  const again = (asked: Asked, reason: string): void => {
    release(asked);
    if (asked.deliveries < MAX_DECISION_DELIVERIES) deliver(asked);
    else {
      forget(asked);
      asked.question.onGiveUp(`${reason}, ${asked.deliveries} times`);
    }
  };

  const held = (from: WorkerRef, leaseToken: string): Asked | undefined => {
    const asked = leases.get(leaseToken);
    return asked?.lease?.instanceId === from.instanceId ? asked : undefined;
  };

  return {
    ask(question) {
      const questions = open.get(question.runner) ?? new Map<string, Asked>();
      open.set(question.runner, questions);
      const asked: Asked = { question, deliveries: 0, lease: undefined, disarm: undefined };
      questions.set(question.name, asked);
      deliver(asked);
    },
    withdraw(runner, name) {
      const asked = open.get(runner)?.get(name);
      if (asked === undefined) return;
      const token = asked.lease?.leaseToken;
      forget(asked);
      if (token !== undefined) workers.stop(token, CancelReason.SUPERSEDED);
    },
    drop(runner) {
      for (const asked of [...(open.get(runner)?.values() ?? [])]) forget(asked);
    },
    offer(tenant) {
      for (const asked of [...(waiting.get(tenant) ?? [])]) deliver(asked);
    },
    answered(from, answer) {
      const { leaseToken } = answer;
      const asked = held(from, leaseToken);
      if (asked === undefined) return false;
      const workerName = asked.lease?.workerName ?? '';
      forget(asked);
      asked.question.onAnswer(answer, workerName, (verdict, reason) =>
        workers.acknowledge(from.tenant, from.instanceId, leaseToken, verdict, reason),
      );
      return true;
    },
    returned(from, leaseToken, wasAsked) {
      const asked = held(from, leaseToken);
      if (asked === undefined) return false;
      if (!wasAsked) asked.deliveries -= 1;
      again(asked, 'its workers went away');
      return true;
    },
    delta(from, delta) {
      held(from, delta.leaseToken)?.question.onDelta(delta);
    },
  };
}

/** What a worker is asked about: a model call where it makes one, else the turn. */
function activityAsked({ conversation }: Session, triggerName: TriggerName): string {
  const model = conversation?.turn?.model;
  return triggerName === 'model.execute' && model?.kind === 'calling'
    ? activityName.modelCall(model.call.callId)
    : activityName.turn(conversation?.turn?.turnId ?? '');
}
