/**
 * A conversation in which anything happens: each step is drawn from a list of numbers, so that a counterexample
 * shrinks. The core is the real one; the world around it answers at random, and sometimes what nobody asked.
 */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type Action,
  ActionSchema,
  type Decision,
  DecisionSchema,
  InterruptActionSchema,
} from '../../../gen/spindle/v1/action_pb.ts';
import { AgentConfigSchema, IterationLimit } from '../../../gen/spindle/v1/agent_pb.ts';
import { CallerSchema } from '../../../gen/spindle/v1/call_pb.ts';
import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { type ChatMessage, ChatMessageSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { FailureSchema, ToolResultSchema } from '../../../gen/spindle/v1/result_pb.ts';
import { ToolHandler, ToolInputSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { FinishReason, ModelResponseSchema, TurnInputSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Call } from '../../../src/core/call.ts';
import type { Command, PreparedCall, WorkerAnswer } from '../../../src/core/command.ts';
import { decide } from '../../../src/core/decide.ts';
import { evolve } from '../../../src/core/evolve.ts';
import type { Deciders } from '../../../src/core/loop/advance.ts';
import type { PlannedCall } from '../../../src/core/loop/conversation.ts';
import { textMessage } from '../../../src/core/loop/messages.ts';
import { MODEL_POLICY } from '../../../src/core/loop/model-call.ts';
import { type Effect, owed } from '../../../src/core/owed.ts';
import { WORKER_TOOL_POLICY } from '../../../src/core/policy.ts';
import { newSession, type Session } from '../../../src/core/session.ts';
import { wakeup } from '../../../src/core/timers.ts';
import type { TriggerName } from '../../../src/core/trigger-name.ts';
import { unreachable } from '../../../src/core/unreachable.ts';

/** Takes one of so many choices; 0 once the numbers are used up. */
export type Draw = (choices: number) => number;

export interface RandomConversation {
  readonly session: Session;
  readonly events: readonly SessionEvent[];
  /** One thing that happens. */
  step(draw: Draw): void;
  /** Answers all that is asked, kindly, until nothing is left to answer; how many steps it took, or undefined. */
  finish(maxSteps: number): number | undefined;
}

export interface World {
  /** Triggers that somebody wants to decide. */
  readonly decided: readonly TriggerName[];
  readonly required: readonly TriggerName[];
  readonly fails: boolean;
  readonly task: boolean;
}

const CALLER = create(CallerSchema, { tenant: 'acme', subject: 'ann' });
const START = Date.UTC(2030, 0, 1);

export function randomConversation(world: World, onState: (session: Session) => void): RandomConversation {
  let session = newSession('s');
  const events: SessionEvent[] = [];
  let now = START;
  let tokens = 0;
  let turns = 0;
  const deciders: Deciders = { wants: (name) => world.decided.includes(name) };
  const token = (prefix: string): string => `${prefix}-${++tokens}`;

  const tell = (command: Command): void => {
    const decided = decide(session, command, deciders);
    if (decided.kind === 'refused') return;
    session = decided.events.reduce(evolve, session);
    events.push(...decided.events);
    if (decided.events.length > 0) onState(session);
  };

  tell({
    kind: 'create',
    at: now,
    agentId: 'agent',
    tenant: CALLER.tenant,
    subject: CALLER.subject,
    ancestry: [],
    metadata: {},
    agent: create(AgentConfigSchema, {
      model: 'scripted/test',
      system: 'Be brief.',
      maxIterations: 4,
      onIterationLimit: world.fails ? IterationLimit.FAIL : IterationLimit.FINAL_ANSWER,
      requiredTriggers: [...world.required],
      ...(world.task ? { task: { resultSchemaJson: '{}' } } : {}),
    }),
  });

  const start = (draw: Draw): void => {
    const action = draw(5) === 4;
    tell({
      kind: 'start_turn',
      at: now,
      turnId: draw(6) === 5 ? `turn-${turns}` : `turn-${++turns}`,
      input: create(TurnInputSchema, {
        kind: action
          ? { case: 'action', value: { name: 'act' } }
          : { case: 'messages', value: { messages: [textMessage(Role.USER, 'Hello.')] } },
      }),
      task: undefined,
      queue: draw(2) === 0,
      origin: { caller: CALLER, traceContext: {} },
      settlements: [],
    });
  };

  /** Does one effect that is owed, or what a foreigner might do in its place. */
  const perform = (effect: Effect, draw: Draw): void => {
    switch (effect.kind) {
      case 'place':
        tell({
          kind: 'place',
          at: now,
          callId: effect.call.callId,
          placement: {
            leaseToken: token('lease'),
            instanceId: 'w',
            streamNumber: 1,
            workerName: 'w',
            recheck: undefined,
          },
        });
        return;
      case 'dispatch':
        answer(effect.lease.token, draw);
        return;
      case 'stop':
        tell({
          kind: 'answer',
          at: now,
          leaseToken: effect.lease.token,
          instanceId: 'w',
          answer: { kind: 'cancelled' },
          draw: 0.5,
        });
        return;
      case 'ask':
        answerDecision(effect.trigger.decisionId, draw);
        return;
      case 'assemble':
        tell({
          kind: 'request_model',
          at: now,
          turnId: effect.turnId,
          iteration: effect.iteration,
          callId: token('model'),
          model: 'scripted/test',
          toolNames: ['tool'],
          toolSetDigest: '',
          policy: MODEL_POLICY,
          historyRepairs: [],
          toolsLeftOut: [],
          toolsUnavailable: [],
          unservable:
            draw(12) === 11 ? create(FailureSchema, { code: 'refused', message: 'No.' }) : undefined,
        });
        return;
      case 'model':
        answerModel(effect.call.callId, effect.call.attempt, draw);
        return;
      case 'prepare':
        tell({
          kind: 'request_calls',
          at: now,
          calls: effect.planned.map((planned) => prepared(planned, draw)),
        });
        return;
      case 'child':
        if (draw(3) === 2)
          tell({
            kind: 'start_child',
            at: now,
            callId: effect.call.callId,
            sessionId: 'sub',
            agentId: 'other',
          });
        else
          tell({
            kind: 'end_child',
            at: now,
            callId: effect.call.callId,
            outcome: { result: resultOf(draw) },
            usage: undefined,
          });
        return;
      default:
        unreachable(effect);
    }
  };

  const answer = (leaseToken: string, draw: Draw): void => {
    const answers: WorkerAnswer[] = [
      { kind: 'result', result: resultOf(draw), mismatch: undefined },
      {
        kind: 'failure',
        failure: create(FailureSchema, { code: 'broken', message: 'Broken.', retryable: true }),
      },
      { kind: 'defer', timeout: undefined },
      { kind: 'interrupt', interruptId: 'same', reason: 'sure?', payloadJson: '' },
      { kind: 'unfit', reason: 'nonsense' },
    ];
    const choice = draw(answers.length + 2);
    if (choice > answers.length) {
      tell({ kind: 'lose', at: now, leaseToken, how: 'never_held', draw: 0.5 });
    } else if (choice === answers.length) {
      tell({ kind: 'lose', at: now, leaseToken, how: 'lost', draw: 0.5 });
    } else {
      const amendment = draw(4) === 3 ? randomDecision(draw) : undefined;
      tell({
        kind: 'answer',
        at: now,
        leaseToken,
        instanceId: 'w',
        answer: answers[choice] ?? { kind: 'cancelled' },
        amendment,
        draw: 0.5,
      });
    }
  };

  const answerDecision = (decisionId: string, draw: Draw): void => {
    const choice = draw(6);
    if (choice === 5) tell({ kind: 'give_up_decision', at: now, decisionId, reason: 'nobody came' });
    else {
      const decision = choice < 2 ? undefined : randomDecision(draw);
      const fault = choice === 4 && draw(3) === 2 ? 'it is nonsense' : undefined;
      tell({ kind: 'decide', at: now, decisionId, decision, fault, workerName: 'd' });
    }
  };

  const answerModel = (callId: string, attempt: number, draw: Draw): void => {
    if (draw(8) === 7) {
      const failure = create(FailureSchema, {
        code: 'provider_error',
        message: 'Down.',
        retryable: draw(2) === 0,
      });
      tell({
        kind: 'answer_model',
        at: now,
        callId,
        attempt,
        answer: { kind: 'failure', failure },
        draw: 0.5,
      });
      return;
    }
    // Ids come twice, empty, and as ours would be.
    const ids = ['a', 'b', '', `${callId}.1`, `${callId}.2`, 'c', 'd'];
    const calls = Array.from({ length: draw(4) }, () => ({
      kind: {
        case: 'toolCall' as const,
        value: {
          callId: ids[draw(ids.length)] ?? '',
          name: draw(5) === 4 ? 'submit_result' : 'tool',
          arguments: '{}',
        },
      },
    }));
    const message = {
      role: Role.ASSISTANT,
      parts: [...textMessage(Role.ASSISTANT, 'Well.').parts, ...calls],
    };
    const response = create(ModelResponseSchema, {
      ...(draw(9) === 8 ? {} : { message }),
      finishReason: draw(4) === 3 ? FinishReason.LENGTH : FinishReason.STOP,
      usage: { inputTokens: 1, outputTokens: 1 },
    });
    tell({
      kind: 'answer_model',
      at: now,
      callId,
      attempt,
      answer: { kind: 'response', response },
      draw: 0.5,
    });
  };

  const prepared = ({ callId, name, spawn }: PlannedCall, draw: Draw): PreparedCall => {
    const handlers = [ToolHandler.WORKER, ToolHandler.CLIENT, ToolHandler.SUBAGENT, ToolHandler.ENGINE];
    const handler =
      spawn === undefined ? (handlers[draw(handlers.length)] ?? ToolHandler.WORKER) : ToolHandler.SUBAGENT;
    const outcome = handler === ToolHandler.ENGINE ? { result: resultOf(draw) } : undefined;
    return {
      callId,
      name,
      arguments: undefined,
      toolDigest: '',
      input: create(ToolInputSchema, { status: { case: 'valid', value: {} } }),
      inputFailure:
        draw(8) === 7 ? create(FailureSchema, { code: 'invalid_arguments', message: 'No.' }) : undefined,
      policy: draw(3) === 2 ? { ...WORKER_TOOL_POLICY, maxAttempts: 2 } : WORKER_TOOL_POLICY,
      safeToRepeat: draw(2) === 1,
      requireValidInput: false,
      handler,
      sequential: draw(4) === 3,
      endsTurn: draw(6) === 5,
      outcome,
      approval: draw(5) === 4 ? create(InterruptActionSchema, { callId, reason: 'approval' }) : undefined,
      placement: undefined,
    };
  };

  const randomDecision = (draw: Draw): Decision => {
    const { conversation, calls } = session;
    const running = [...calls.values()].filter(({ phase }) => phase.kind !== 'finished');
    const some = running[draw(Math.max(running.length, 1))]?.callId ?? 'a';
    const held =
      conversation?.messages.flatMap(({ parts }) =>
        parts.flatMap(({ kind }) => (kind.case === 'toolCall' ? [kind.value.callId] : [])),
      ) ?? [];
    const named = held[draw(Math.max(held.length, 1))] ?? '';
    const actions: MessageInitShape<typeof ActionSchema>[] = Array.from({ length: draw(4) }, () => {
      const kinds: MessageInitShape<typeof ActionSchema>[] = [
        {
          kind: {
            case: 'modelCall',
            value: draw(3) === 2 ? { messages: sent(draw, named) } : { withoutTools: draw(2) === 1 },
          },
        },
        {
          kind: {
            case: 'toolCall',
            value: { callId: draw(2) === 0 ? '' : named, name: 'tool', arguments: '{}' },
          },
        },
        { kind: { case: 'toolCall', value: { callId: some } } },
        { kind: { case: 'toolResult', value: { callId: some, form: { case: 'result', value: {} } } } },
        { kind: { case: 'toolError', value: { callId: some, error: { code: 'x', message: 'Ended.' } } } },
        { kind: { case: 'subagentSpawn', value: { callId: draw(2) === 0 ? '' : named, agentId: 'other' } } },
        interrupt(''),
        interrupt(named),
        { kind: { case: 'done', value: { outputJson: '1' } } },
      ];
      return kinds[draw(kinds.length)] ?? {};
    });
    return create(DecisionSchema, {
      messages: draw(3) === 2 ? sent(draw, named) : [],
      actions: actions.map((action): Action => create(ActionSchema, action)),
      ...(draw(3) === 2 ? { stateJson: '{"n": 1}' } : {}),
    });
  };

  /** Messages that somebody wrote by hand, with calls and results that need not fit. */
  const sent = (draw: Draw, callId: string): ChatMessage[] => {
    const call = {
      kind: {
        case: 'toolCall' as const,
        value: { callId: draw(2) === 0 ? callId : 'foreign', name: 'tool', arguments: 'broken' },
      },
    };
    const result = {
      kind: {
        case: 'toolResult' as const,
        value: {
          callId: draw(2) === 0 ? callId : 'stray',
          name: 'tool',
          outcome: { case: 'result' as const, value: {} },
        },
      },
    };
    return [
      textMessage(Role.USER, 'Summary.'),
      create(ChatMessageSchema, { role: Role.ASSISTANT, parts: [call] }),
      ...(draw(2) === 0 ? [] : [create(ChatMessageSchema, { role: Role.TOOL, parts: [result] })]),
    ];
  };

  const outside = (call: Call, draw: Draw): void =>
    tell({
      kind: 'settle',
      at: now,
      callId: call.callId,
      attempt: 0,
      answer: { kind: 'result', result: resultOf(draw), mismatch: undefined },
    });

  const openCalls = (): Call[] =>
    [...session.calls.values()].filter(
      ({ phase, handler }) => phase.kind === 'open' && handler !== ToolHandler.SUBAGENT,
    );
  const openInterrupts = (): string[] =>
    [...(session.conversation?.interrupts.values() ?? [])]
      .filter(({ state }) => state.kind === 'open')
      .map(({ interruptId }) => interruptId);

  const resume = (interruptId: string, deny: boolean): void =>
    tell({ kind: 'resume', at: now, interruptId, payloadJson: 'true', denyReason: deny ? 'No.' : undefined });

  const pass = (): void => {
    const next = wakeup(session, now, new Map());
    now = Math.max(now + 1, next ?? now + 1);
    tell({ kind: 'tick', at: now, draw: 0.5, heard: new Map() });
  };

  return {
    get session() {
      return session;
    },
    events,
    step(draw) {
      now += 1;
      const choice = draw(16);
      const effects = owed(session, now);
      const effect = effects[draw(Math.max(effects.length, 1))];
      const [open] = openCalls();
      const interrupts = openInterrupts();
      if (choice < 10 && effect !== undefined) perform(effect, draw);
      else if (choice < 12 && open !== undefined) outside(open, draw);
      else if (choice < 13 && interrupts.length > 0)
        resume(interrupts[draw(interrupts.length)] ?? '', draw(2) === 1);
      else if (choice === 13) pass();
      else if (choice === 14 && draw(3) === 2)
        tell({
          kind: 'cancel_turn',
          at: now,
          turnId: draw(2) === 0 ? (session.conversation?.turn?.turnId ?? '') : `turn-${turns}`,
          reason: 'enough',
        });
      else if (choice === 15 && effect?.kind === 'place')
        tell({ kind: 'cancel', at: now, callId: effect.call.callId, reason: '' });
      else start(draw);
    },
    finish(maxSteps) {
      const kind: Draw = () => 0;
      for (let steps = 0; steps < maxSteps; steps += 1) {
        now += 1;
        const { conversation } = session;
        if (conversation?.turn === undefined && conversation?.queue.length === 0) return steps;
        const effect = owed(session, now).find(({ kind: what }) => what !== 'stop');
        const [open] = openCalls();
        const [interruptId] = openInterrupts().filter((id) => {
          const callId = conversation?.interrupts.get(id)?.callId ?? '';
          return callId === '' || session.calls.get(callId)?.phase.kind === 'interrupted';
        });
        if (effect !== undefined) perform(effect, kind);
        else if (open !== undefined) outside(open, kind);
        else if (interruptId !== undefined) resume(interruptId, false);
        else {
          // Nobody is left who could answer: time alone may go on.
          if (wakeup(session, now, new Map()) === undefined) return undefined;
          pass();
        }
      }
      return undefined;
    },
  };
}

function resultOf(draw: Draw) {
  return create(ToolResultSchema, {
    content: [{ kind: { case: 'text', value: { text: `${draw(2)}` } } }],
    isError: draw(5) === 4,
    endsTurn: draw(7) === 6,
  });
}

function interrupt(callId: string): MessageInitShape<typeof ActionSchema> {
  return { kind: { case: 'interrupt', value: { callId, reason: 'check' } } };
}
