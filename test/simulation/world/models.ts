import { create } from '@bufbuild/protobuf';
import { type Part, PartSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { FinishReason, type ModelRequest, ModelResponseSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { failure } from '../../../src/core/failure.ts';
import type { ModelAnswer, Models } from '../../../src/engine/ports.ts';
import type { Dice } from './dice.ts';
import type { History } from './history.ts';
import type { Process, Scheduler } from './scheduler.ts';
import { AGENT_TOOLS, KID, NO_TOOL } from './talks.ts';

export interface ModelsWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  /** The engine that asks. */
  readonly process: Process;
  /** Once set, models answer soon, and with a text. */
  readonly calm: () => boolean;
}

/** Providers that are slow, fail, break off, and say odd things. */
export function createModels({ scheduler, dice, history, process, calm }: ModelsWorld): Models {
  const engine = process.name;
  return {
    fault: () => undefined,
    call({ callId, attempt, request, signal, onDelta }) {
      history.record({ kind: 'model_asked', engine, callId, attempt, request });
      const answer = calm() ? textOf(dice) : answerTo(dice, request);
      const length = calm() ? dice.between(1, 50) : dice.latency(900, 12_000);
      return new Promise((resolve) => {
        scheduler.at(scheduler.now + length / 2, 'network', process, () => {
          if (!signal.aborted) onDelta(DELTA);
        });
        // One that hangs is given up by the engine.
        if (!calm() && dice.chance(0.01)) return;
        scheduler.at(scheduler.now + length, 'network', process, () => {
          history.record({ kind: 'model_said', engine, callId, attempt, answer });
          resolve(answer);
        });
      });
    },
  };
}

const DELTA = {
  $typeName: 'spindle.v1.Delta',
  callId: '',
  kind: { case: 'text', value: '…' },
} as const;

function answerTo(dice: Dice, request: ModelRequest): ModelAnswer {
  const since = request.messages.slice(request.messages.findLastIndex(({ role }) => role === Role.USER));
  const iterations = since.filter(({ role }) => role === Role.ASSISTANT).length;
  const kind = dice.weighted({
    calls: iterations < 3 ? 70 : 10,
    text: 20,
    retryable: 8,
    final: 2,
    empty: 1,
  });
  switch (kind) {
    case 'calls':
      return callsOf(dice, request);
    case 'text':
      return textOf(dice);
    case 'retryable':
      return { kind: 'failure', failure: failure('rate_limited', 'Not now.', { retryable: true }) };
    case 'final':
      return { kind: 'failure', failure: failure('refused', 'Never.') };
    case 'empty':
      return { kind: 'response', response: create(ModelResponseSchema, { finishReason: FinishReason.STOP }) };
  }
}

function textOf(dice: Dice): ModelAnswer {
  return responseOf([text(`answer ${dice.token()}`)], FinishReason.STOP);
}

/** Calls of what is offered, mostly: also of what is not, with arguments that are none, and with ids that are taken. */
function callsOf(dice: Dice, { messages, tools }: ModelRequest): ModelAnswer {
  const offered = tools.map(({ name }) => name);
  const taken = messages.flatMap(({ parts }) =>
    parts.flatMap(({ kind }) => (kind.case === 'toolCall' ? [kind.value.callId] : [])),
  );
  const same = `call-${dice.token()}`;
  const idOf = dice.weighted({ own: 80, empty: 8, taken: 6, same: 6 });
  const parts = Array.from({ length: dice.int(1, 4) }, (): Part => {
    const name =
      offered.length > 0 && dice.chance(0.85)
        ? dice.pick(offered)
        : dice.pick([...AGENT_TOOLS, KID, NO_TOOL]);
    const callId = {
      own: `call-${dice.token()}`,
      empty: '',
      taken: taken.length > 0 ? dice.pick(taken) : '',
      same,
    }[idOf];
    const value = { callId, name, arguments: argumentsOf(dice, name) };
    return create(PartSchema, { kind: { case: 'toolCall', value } });
  });
  return responseOf(dice.chance(0.3) ? [text('Wait.'), ...parts] : parts, FinishReason.TOOL_CALLS);
}

function argumentsOf(dice: Dice, name: string): string {
  if (dice.chance(0.05)) return dice.chance(0.5) ? '{"n": "one"}' : '{"n": ';
  return name === KID ? `{"message": "help ${dice.token()}"}` : `{"n": ${dice.int(1, 999_999)}}`;
}

function text(value: string): Part {
  const content = { kind: { case: 'text' as const, value: { text: value } } };
  return create(PartSchema, { kind: { case: 'content', value: content } });
}

function responseOf(parts: Part[], finishReason: FinishReason): ModelAnswer {
  const response = create(ModelResponseSchema, {
    message: { role: Role.ASSISTANT, parts },
    finishReason,
    usage: { inputTokens: 10, outputTokens: 5 },
  });
  return { kind: 'response', response };
}
