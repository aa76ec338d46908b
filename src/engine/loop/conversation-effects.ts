import { create } from '@bufbuild/protobuf';
import type { Decision } from '../../../gen/spindle/v1/action_pb.ts';
import { ModelHandler } from '../../../gen/spindle/v1/agent_pb.ts';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import { ModelExecuteSchema, TriggerSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Answer } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { Call } from '../../core/call.ts';
import { failure } from '../../core/failure.ts';
import { DECISION_RUN_MS, RECONNECT_INITIAL_MS, RECONNECT_MAX_MS } from '../../core/limits.ts';
import type { Deciders } from '../../core/loop/advance.ts';
import type { ModelCallInFlight, PendingTrigger } from '../../core/loop/conversation.ts';
import { modelCallOf, modelDeadline } from '../../core/loop/model-call.ts';
import { type ConversationEffect, conversationEffectName } from '../../core/loop/owed.ts';
import { propose } from '../../core/loop/propose.ts';
import { triggerMessage } from '../../core/loop/trigger.ts';
import { duration, type Millis, timestamp } from '../../core/time.ts';
import { unreachable } from '../../core/unreachable.ts';
import type { Shared } from '../engine.ts';
import type { Binding, Reservation } from '../ports.ts';
import type { SessionRunner } from '../session-runner.ts';
import { type Acknowledge, type Asking, createAsking } from './asking.ts';
import { type Children, createChildren } from './children.ts';
import { decisionContentFault } from './decision-content.ts';
import { createIterations } from './iterations.ts';
import { storeDecision } from './message-bytes.ts';
import { createModelCalls } from './model-calls.ts';
import { createPreparation } from './preparation.ts';

/** Does what the core says is owed for conversations. */
export interface ConversationEffects {
  readonly asking: Asking;
  readonly children: Children;
  perform(runner: SessionRunner, effect: ConversationEffect): void;
  withdraw(runner: SessionRunner, name: string): void;
  /** The session is not here any more: nothing is done for it. */
  drop(runner: SessionRunner): void;
  deciders(runner: SessionRunner): Deciders;
  /** A worker that runs an agent's own tools, for a call that no worker offers (4.11). */
  reserveBound(runner: SessionRunner, call: Call): Reservation | undefined;
  /** Workers of a tenant, or of all, may have come back. */
  offer(tenant?: string): void;
}

export function createConversationEffects(shared: Shared): ConversationEffects {
  const { options, definitions } = shared;
  const { clock, workers } = options;
  const asking = createAsking(shared);
  const children = createChildren(shared);
  const iterations = createIterations(shared);
  const prepare = createPreparation(shared, iterations);
  const modelCalls = createModelCalls(shared, iterations);
  /** Decisions that were refused are asked again after a while. */
  const pauses = new Map<SessionRunner, Map<string, () => void>>();

  const ask = (runner: SessionRunner, trigger: PendingTrigger, name: string): void => {
    const { decisionId, refusals } = trigger;
    const question = (): void =>
      asking.ask({
        runner,
        name,
        triggerName: trigger.cause.kind,
        decisionId,
        timeoutMs: DECISION_RUN_MS,
        ask: () => ({
          trigger: triggerMessage(runner.session, trigger),
          proposed: propose(runner.session, trigger),
        }),
        onAnswer: (answer, workerName, acknowledge) =>
          decided(runner, name, decisionId, answer, workerName, acknowledge),
        onDelta: () => undefined,
        onGiveUp: (reason) =>
          runner.send({ kind: 'give_up_decision', at: clock.now(), decisionId, reason }, (outcome) => {
            // Without a turn there is nothing to end: it is owed as before.
            const [first] = runner.session.conversation?.triggers ?? [];
            if (outcome.ok && !outcome.value.changed && first?.decisionId === decisionId)
              later(RECONNECT_MAX_MS);
          }),
      });
    const later = (wait: Millis): void => {
      const disarm = clock.alarm(clock.now() + wait, () => {
        pauses.get(runner)?.delete(name);
        question();
      });
      pauses.set(runner, (pauses.get(runner) ?? new Map<string, () => void>()).set(name, disarm));
    };
    if (refusals === 0) question();
    else later(Math.min(RECONNECT_INITIAL_MS * 2 ** (refusals - 1), RECONNECT_MAX_MS));
  };

  const decided = (
    runner: SessionRunner,
    name: string,
    decisionId: string,
    { outcome }: Answer,
    workerName: string,
    acknowledge: Acknowledge,
  ): void => {
    const decision = outcome.case === 'decision' ? outcome.value : undefined;
    const fault = faultOf(outcome) ?? (decision && decisionContentFault(options.schemas, decision));
    const send = (stored: Decision | undefined): void =>
      runner.send(
        { kind: 'decide', at: clock.now(), decisionId, decision: stored, fault, workerName },
        (done) => {
          const ruling = done.ok ? done.value.answer : undefined;
          if (ruling !== undefined) acknowledge(ruling.verdict, ruling.reason);
          // Nobody knows whether it is recorded. It is asked again, under the same id, by who owns the session now.
          else acknowledge(AnswerVerdict.STALE, 'the session is not here any more');
        },
      );
    if (decision === undefined || fault !== undefined) {
      send(undefined);
      return;
    }
    storeDecision(decision, runner.key.tenant, options.blobs).then(send, (error: unknown) => {
      const refusal = shared.refuse(error);
      if (refusal === undefined)
        options.observer.report('error', 'decision_not_stored', { error: String(error) });
      acknowledge(AnswerVerdict.STALE, 'the bytes of the decision could not be stored');
      // It is not decided, and nobody else has been asked.
      runner.again(name);
    });
  };

  const askForModel = (runner: SessionRunner, call: ModelCallInFlight, name: string): void => {
    const { callId, attempt } = call;
    const send = (answer: Parameters<typeof modelCalls.answered>[3], acknowledge: Acknowledge): void =>
      modelCalls.answered(runner, callId, attempt, answer, (ruling) =>
        acknowledge(
          ruling?.verdict ?? AnswerVerdict.STALE,
          ruling?.reason ?? 'the session is not here any more',
        ),
      );
    modelCalls.request(runner, call).then(
      (request) => {
        if (modelCallOf(runner.session)?.attempt !== attempt) return;
        asking.ask({
          runner,
          name,
          triggerName: 'model.execute',
          decisionId: '',
          timeoutMs: undefined,
          ask: () => {
            const until = modelDeadline(runner.session, call);
            const value = create(ModelExecuteSchema, { callId, request, attempt });
            if (until !== undefined) {
              value.deadline = timestamp(until);
              value.timeRemaining = duration(Math.max(until - clock.now(), 0));
            }
            return {
              trigger: create(TriggerSchema, { kind: { case: 'modelExecute', value } }),
              proposed: undefined,
            };
          },
          onAnswer: ({ outcome }, _, acknowledge) => {
            if (outcome.case === 'modelResponse')
              send({ kind: 'response', response: outcome.value }, acknowledge);
            else if (outcome.case === 'error') send({ kind: 'failure', failure: outcome.value }, acknowledge);
            else {
              const message = `The worker that makes the model calls gave no usable answer: ${outcome.case ?? 'none'}`;
              send({ kind: 'failure', failure: failure('invalid_answer', message) }, acknowledge);
            }
          },
          onDelta: ({ deltas }) => {
            for (const delta of deltas) runner.tellDelta({ ...delta, callId });
          },
          onGiveUp: (reason) =>
            modelCalls.answered(
              runner,
              callId,
              attempt,
              {
                kind: 'failure',
                failure: failure('outcome_unknown', `No worker made the model call: ${reason}.`),
              },
              () => undefined,
            ),
        });
      },
      modelCalls.failed(runner, callId, attempt),
    );
  };

  const effects: ConversationEffects = {
    asking,
    children,
    perform(runner, effect) {
      // An engine that stops begins nothing: its successor will.
      if (shared.stopping !== undefined) return;
      const name = conversationEffectName(effect);
      switch (effect.kind) {
        case 'ask':
          ask(runner, effect.trigger, name);
          return;
        case 'assemble':
          iterations.begin(runner, effect, name);
          return;
        case 'model':
          if (runner.session.conversation?.agent?.modelHandler === ModelHandler.WORKER)
            askForModel(runner, effect.call, name);
          else modelCalls.start(runner, effect.call, name);
          return;
        case 'prepare':
          prepare(runner, effect.planned, name);
          return;
        case 'child':
          children.follow(runner, effect.call, name);
          return;
        default:
          unreachable(effect);
      }
    },
    withdraw(runner, name) {
      pauses.get(runner)?.get(name)?.();
      pauses.get(runner)?.delete(name);
      asking.withdraw(runner, name);
      modelCalls.withdraw(runner, name);
      iterations.withdraw(runner, name);
      children.withdraw(runner, name);
    },
    drop(runner) {
      for (const disarm of pauses.get(runner)?.values() ?? []) disarm();
      pauses.delete(runner);
      asking.drop(runner);
      modelCalls.drop(runner);
      iterations.drop(runner);
      children.drop(runner);
    },
    deciders(runner) {
      const { conversation } = runner.session;
      const agentId = conversation?.agentId ?? runner.head.name;
      // Most commands raise no trigger, or several in a row.
      let binding: Binding | undefined | 'unknown' = 'unknown';
      return {
        wants(trigger) {
          if (binding === 'unknown') binding = workers.binding(runner.key.tenant, agentId);
          if (binding?.triggers.has(trigger)) return true;
          // Shortly after a start, those who decided before may still come back (5.8, 6.3).
          return clock.now() < shared.namesSettledAt && conversation?.asked.has(trigger) === true;
        },
      };
    },
    reserveBound(runner, call) {
      const { conversation } = runner.session;
      const { tenant, sessionId } = runner.key;
      const definition = definitions.cached(tenant, call.toolDigest);
      if (conversation === undefined || definition === undefined) return undefined;
      const lease = workers.reserveDecider(tenant, conversation.agentId, 'tool.execute', sessionId);
      return lease && { ...lease, definition };
    },
    offer(tenant) {
      if (tenant !== undefined) asking.offer(tenant);
      iterations.offer(tenant);
    },
  };
  return effects;

  function faultOf(outcome: Answer['outcome']): string | undefined {
    switch (outcome.case) {
      case 'accept':
      case 'decision':
        return undefined;
      case 'error':
        return `the decider failed: ${outcome.value.message}`;
      case 'cancelled':
        return 'the decider was stopped';
      default:
        return `${outcome.case ?? 'an answer without an outcome'} is no decision`;
    }
  }
}
