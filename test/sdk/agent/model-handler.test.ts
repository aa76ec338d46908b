import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { FinishReason, ModelResponseSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { CancelReason } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { defineAgent, ModelError, type ModelHandler } from '../../../src/sdk/worker/index.ts';
import { startAgents, type TriggerKind } from './agent-world.ts';

const EXECUTE: TriggerKind = {
  case: 'modelExecute',
  value: {
    callId: 'm1',
    attempt: 2,
    timeRemaining: { seconds: 5n },
    request: { model: 'x/y', messages: [{ parts: [] }] },
  },
};

const models = (onModelExecute: ModelHandler) =>
  startAgents(defineAgent({ id: 'clerk', model: 'x/y', onModelExecute }));

/** The parts of the message that was answered. */
const text = (value: string) => ({
  kind: { case: 'content', value: { kind: { case: 'text', value: { text: value } } } },
});

describe('a model handler', () => {
  it('makes the worker the one that calls the model', async () => {
    const world = await models(() => 'Hi');
    expect(world.frames('hello')).toMatchObject([
      { agents: [{ triggers: ['model.execute'], config: { modelHandler: 2 } }] },
    ]);
  });

  it('knows its call', async () => {
    const seen: unknown[] = [];
    const world = await models(({ request, callId, attempt, timeRemaining, sessionId, agentId }) => {
      seen.push({ model: request.model, callId, attempt, left: timeRemaining(), sessionId, agentId });
      return 'Hi';
    });
    await world.ask(EXECUTE);
    expect(seen).toEqual([
      { model: 'x/y', callId: 'm1', attempt: 2, left: 5_000, sessionId: 's1', agentId: 'clerk' },
    ]);
  });

  it.each<[string, ModelHandler, object]>([
    ['text', () => 'Hi', { message: { parts: [text('Hi')] }, finishReason: FinishReason.STOP }],
    [
      'a reply',
      async () => ({
        reasoning: 'Hm.',
        text: 'One moment.',
        toolCalls: [
          { callId: 'a', name: 'search', arguments: { words: 'x' } },
          { name: 'search', arguments: '{"words": 1.0}' },
        ],
        usage: { inputTokens: 3, outputTokens: 4 },
        responseModel: 'y-1',
        responseId: 'r',
      }),
      {
        message: {
          parts: [
            { kind: { case: 'reasoning', value: { text: 'Hm.' } } },
            text('One moment.'),
            { kind: { value: { callId: 'a', name: 'search', arguments: '{"words":"x"}' } } },
            { kind: { value: { callId: '', name: 'search', arguments: '{"words": 1.0}' } } },
          ],
        },
        finishReason: FinishReason.TOOL_CALLS,
        usage: { inputTokens: 3, outputTokens: 4 },
        responseModel: 'y-1',
        responseId: 'r',
      },
    ],
    [
      'the message itself',
      async () => create(ModelResponseSchema, { finishReason: FinishReason.LENGTH }),
      { finishReason: FinishReason.LENGTH },
    ],
  ])('answers with %s', async (_, handler, response) => {
    const world = await models(handler);
    expect(await world.ask(EXECUTE)).toMatchObject({ case: 'modelResponse', value: response });
  });

  it('gives its answer in parts, which are seen at once and put together', async () => {
    const gate = Promise.withResolvers<void>();
    const world = await models(async function* () {
      yield { reasoning: 'Let me ' };
      yield { reasoning: 'see.' };
      yield 'Hel';
      yield { text: 'lo' };
      await gate.promise;
      yield { toolCall: { callId: 'a', name: 'search', arguments: '{"wo' } };
      yield { toolCall: { callId: 'b', name: 'other' } };
      yield { toolCall: { callId: 'a', arguments: 'rds":1}' } };
      yield { usage: { inputTokens: 1 } };
      yield { finishReason: 'length' };
    });
    const leaseToken = await world.dispatch(EXECUTE);
    expect(world.frames('modelDelta')).toMatchObject([
      {
        leaseToken,
        deltas: [
          { callId: 'm1', kind: { case: 'reasoning', value: 'Let me ' } },
          { kind: { case: 'reasoning', value: 'see.' } },
          { kind: { case: 'text', value: 'Hel' } },
          { kind: { case: 'text', value: 'lo' } },
        ],
      },
    ]);
    expect(world.outcome(leaseToken)).toBeUndefined();
    gate.resolve();
    await world.settle();
    expect(world.frames('modelDelta').at(-1)).toMatchObject({
      deltas: [
        { kind: { value: { callId: 'a', name: 'search', arguments: '{"wo' } } },
        { kind: { value: { callId: 'b', name: 'other', arguments: '' } } },
        { kind: { value: { callId: 'a', name: 'search', arguments: 'rds":1}' } } },
      ],
    });
    expect(world.outcome(leaseToken)).toMatchObject({
      value: {
        message: {
          parts: [
            { kind: { case: 'reasoning', value: { text: 'Let me see.' } } },
            text('Hello'),
            { kind: { value: { callId: 'a', name: 'search', arguments: '{"words":1}' } } },
            { kind: { value: { callId: 'b' } } },
          ],
        },
        finishReason: FinishReason.LENGTH,
        usage: { inputTokens: 1 },
      },
    });
  });

  it('may return a reply after its parts, which then counts', async () => {
    const world = await models(async function* () {
      yield 'draft';
      return { text: 'final' };
    });
    expect(await world.ask(EXECUTE)).toMatchObject({ value: { message: { parts: [text('final')] } } });
  });

  it('keeps the deltas of a stream that is not read within bounds, and the answer whole', async () => {
    const world = await models(async function* () {
      for (let count = 0; count < 2_000; count++) yield 'x';
      yield 'y'.repeat(70_000);
    });
    const outcome = await world.ask(EXECUTE);
    const sent = world.frames('modelDelta').flatMap((frame) => ('deltas' in frame ? frame.deltas : []));
    expect(sent).toHaveLength(1_000);
    expect(outcome).toMatchObject({
      value: { message: { parts: [text('x'.repeat(2_000) + 'y'.repeat(70_000))] } },
    });
  });

  it.each<[string, unknown, object]>([
    [
      'a ModelError',
      new ModelError('Slow down.', { code: 'rate_limited', retryable: true, retryAfterMs: 2_000 }),
      { code: 'rate_limited', message: 'Slow down.', retryable: true, retryAfter: { seconds: 2n } },
    ],
    ['a ModelError without a code', new ModelError('No.'), { code: 'provider_error', retryable: false }],
    ['any other error', new Error('socket closed'), { code: 'provider_error', message: 'socket closed' }],
  ])('fails its attempt by throwing %s', async (_, thrown, failure) => {
    const world = await models(() => Promise.reject(thrown));
    expect(await world.ask(EXECUTE)).toMatchObject({ case: 'error', value: failure });
  });

  it('names a part that is none', async () => {
    const world = await models(async function* () {
      yield { txt: 'x' } as unknown as string;
    });
    expect(await world.ask(EXECUTE)).toMatchObject({
      value: { code: 'provider_error', message: expect.stringContaining('"txt"') },
    });
  });

  it('4.10: is stopped between two parts, and its source closed', async () => {
    const gate = Promise.withResolvers<void>();
    let closed = false;
    const world = await models(async function* () {
      try {
        await gate.promise;
        yield 'late';
        yield 'later';
      } finally {
        closed = true;
      }
    });
    const leaseToken = await world.dispatch(EXECUTE);
    world.send({ case: 'cancel', value: { leaseToken, reason: CancelReason.CANCELLED } });
    gate.resolve();
    await world.settle();
    expect(world.outcome(leaseToken)).toMatchObject({ case: 'cancelled' });
    expect(closed).toBe(true);
    expect(world.frames('modelDelta')).toEqual([]);
  });
});
