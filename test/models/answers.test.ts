import { describe, expect, it } from 'vitest';
import { FinishReason } from '../../gen/spindle/v1/trigger_pb.ts';
import { MAX_CALLS_PER_ANSWER, MAX_MODEL_ANSWER_BYTES } from '../../src/core/limits.ts';
import type { ModelAnswer } from '../../src/engine/ports.ts';
import { ask, callsIn, converse, textIn } from './driver.ts';
import { KINDS, modelOf, serveProvider } from './providers.ts';
import { answer, readConversation } from './wire/conversation.ts';

function responseOf(given: ModelAnswer | undefined) {
  if (given?.kind === 'response') return given.response;
  throw new Error(given?.failure.message ?? 'there is no answer');
}

/** Providers whose format carries arguments as text, so that every byte arrives. */
const EXACT = KINDS.filter((kind) => kind !== 'google');

describe.each(EXACT)('1.1: the bytes of arguments from %s', (kind) => {
  it.each(['exact-arguments', 'broken-arguments', 'cut-for-length', 'prototype-keys'])(
    'are on record as they came: %s',
    async (name) => {
      const conversation = readConversation(name);
      await using served = await serveProvider(kind, conversation.answers);
      const { answers } = await converse(served.models, modelOf(kind), conversation);
      expect(callsIn(responseOf(answers[0])).map((call) => call.arguments)).toEqual(
        conversation.answers[0]?.calls.map((call) => call.arguments.join('')),
      );
    },
  );
});

/** Providers whose library sends arguments as the text that they were. */
describe.each(['openai', 'openai-chat', 'openai-compatible'] as const)(
  '1.10: the bytes sent to %s',
  (kind) => {
    it('are those of the record where they are a JSON object, and {} where not', async () => {
      const conversation = readConversation('exact-arguments');
      await using served = await serveProvider(kind, conversation.answers);
      const spoken = await converse(served.models, modelOf(kind), conversation);
      for (const { arguments: text } of callsIn(responseOf(spoken.answers[0]))) {
        expect(JSON.stringify(served.server.requests[1]?.body)).toContain(JSON.stringify(text).slice(1, -1));
      }
      const broken = readConversation('broken-arguments');
      await using other = await serveProvider(kind, broken.answers);
      const { repairs } = await converse(other.models, modelOf(kind), broken);
      expect(repairs).toHaveLength(5);
      expect(JSON.stringify(other.server.requests[1]?.body)).not.toContain('where: Oslo');
    });
  },
);

describe.each(KINDS)('an answer of %s', (kind) => {
  it('says what was read and written, which model answered, and under what id', async () => {
    const conversation = readConversation('text');
    await using served = await serveProvider(kind, conversation.answers);
    const response = responseOf(await ask(served.models, modelOf(kind)));
    expect(response.usage).toMatchObject({ inputTokens: 120, outputTokens: 9, cachedInputTokens: 100 });
    expect(response.responseId).toBe('resp_text');
    expect(response.finishReason).toBe(FinishReason.STOP);
  });

  it('streams its text and its calls, and the pieces add up to the answer', async () => {
    const conversation = readConversation('one-call');
    await using served = await serveProvider(kind, conversation.answers);
    const { answers, deltas } = await converse(served.models, modelOf(kind), conversation);
    const told = deltas.flatMap(({ kind: delta }) => (delta.case === 'text' ? delta.value : [])).join('');
    expect(told).toBe(answers.map((each) => textIn(responseOf(each))).join(''));
    const written = deltas.flatMap(({ kind: delta }) => (delta.case === 'toolCall' ? delta.value : []));
    const [call] = callsIn(responseOf(answers[0]));
    expect(written.map((piece) => piece.arguments).join('')).toBe(call?.arguments);
    expect(new Set(written.map(({ callId }) => callId))).toEqual(new Set([call?.callId]));
    expect(new Set(deltas.map(({ callId }) => callId))).toEqual(new Set(['model_1']));
  });

  it('that withholds everything is refused, and one that was cut short says so', async () => {
    await using served = await serveProvider(kind, [
      answer({ finish: 'filter' }),
      answer({ text: ['I will'], finish: 'filter' }),
      answer({ text: ['I will'], finish: 'length' }),
    ]);
    const withheld = await ask(served.models, modelOf(kind));
    expect(withheld).toMatchObject({ kind: 'failure', failure: { code: 'refused', retryable: false } });
    const partly = responseOf(await ask(served.models, modelOf(kind)));
    expect(partly.finishReason).toBe(FinishReason.CONTENT_FILTER);
    const cut = responseOf(await ask(served.models, modelOf(kind)));
    expect(cut.finishReason).toBe(FinishReason.LENGTH);
  });

  it('that is larger than an event may be is a failure, and so is one with too many calls', async () => {
    const long = 'x'.repeat(64 * 1024);
    const calls = Array.from({ length: MAX_CALLS_PER_ANSWER + 1 }, (_, at) => ({
      id: `call_${at}`,
      name: 'look',
    }));
    await using served = await serveProvider(kind, [
      answer({ text: Array.from({ length: MAX_MODEL_ANSWER_BYTES / long.length + 1 }, () => long) }),
      answer({ calls, finish: 'calls' }),
    ]);
    for (const words of ['is larger than', 'makes more than']) {
      const given = await ask(served.models, modelOf(kind));
      expect(given).toMatchObject({ kind: 'failure', failure: { code: 'provider_error' } });
      expect(given.kind === 'failure' && given.failure.message).toContain(words);
    }
  });
});

describe.each(['anthropic', 'openai', 'google'] as const)('reasoning of %s', (kind) => {
  // The server refuses a signature that it did not issue, and reasoning that is not what it signed.
  it('goes back unchanged, with its signature, in every later request', async () => {
    const conversation = readConversation('reasoning');
    await using served = await serveProvider(kind, conversation.answers);
    const { answers } = await converse(served.models, modelOf(kind), conversation);
    expect(answers.map(({ kind: how }) => how)).toEqual(['response', 'response', 'response']);
    const last = JSON.stringify(served.server.requests[2]?.body);
    expect(last).toContain('sig-1');
    expect(last).toContain('sig-2');
  });

  it('counts, and is told apart from the answer', async () => {
    const conversation = readConversation('reasoning');
    await using served = await serveProvider(kind, conversation.answers);
    const { answers, deltas } = await converse(served.models, modelOf(kind), conversation);
    const thought = deltas
      .flatMap(({ kind: delta }) => (delta.case === 'reasoning' ? delta.value : []))
      .join('');
    expect(thought).toBe('The user wants the weather.Enough seen.');
    expect(textIn(responseOf(answers[1]))).toBe('Rain.');
  });

  it('of another provider is left out', async () => {
    const conversation = readConversation('reasoning');
    const other = kind === 'google' ? 'anthropic' : 'google';
    await using first = await serveProvider(other, conversation.answers);
    const { messages } = await converse(first.models, modelOf(other), conversation);
    await using second = await serveProvider(kind, [answer({ text: ['Hello.'] })]);
    expect(textIn(responseOf(await ask(second.models, modelOf(kind), { messages })))).toBe('Hello.');
    expect(JSON.stringify(second.server.requests)).not.toContain('sig-1');
  });
});
