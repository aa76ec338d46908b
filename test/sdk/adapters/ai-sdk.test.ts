import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { aiSdkTools } from '../../../src/sdk/adapters/ai-sdk.ts';
import { defineTool } from '../../../src/sdk/worker/index.ts';
import { engineWith, spindleClient } from '../../gateway/gateway.ts';
import { TOOLS } from './tools.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The first digits of the SHA-256 of `name.with.dots`. */
const DOTS = '3e12f374';

/** A model that calls one tool, and then answers. */
function modelCalling(toolName: string, input: object) {
  return new MockLanguageModelV4({
    doGenerate: [
      {
        content: [{ type: 'tool-call', toolCallId: 'c', toolName, input: JSON.stringify(input) }],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: 'text', text: 'done' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });
}

async function run(toolName: string, input: object) {
  const engine = await engineWith(TOOLS);
  const client = spindleClient(engine.address);
  const model = modelCalling(toolName, input);
  const { text } = await generateText({
    model,
    tools: await aiSdkTools(client),
    stopWhen: stepCountIs(3),
    prompt: 'go',
  });
  const [, second] = model.doGenerateCalls;
  const answer = second?.prompt.findLast(({ role }) => role === 'tool');
  return { client, model, text, output: answer?.content[0] };
}

describe('the catalog as tools of the AI SDK', () => {
  it.each([
    ['a structured value', 'add', { a: 1, b: 2 }, { type: 'json', value: { sum: 3 } }],
    ['a text', 'greet', {}, { type: 'text', value: 'Hello' }],
    ['a failure', 'failing', {}, { type: 'error-text', value: 'out of tea' }],
    [
      'a picture',
      'picture',
      {},
      {
        type: 'content',
        value: [
          { type: 'text', text: 'a picture' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
        ],
      },
    ],
    [
      'the text of a tool whose name no provider takes',
      `name_with_dots_${DOTS}`,
      {},
      { type: 'text', value: 'dots' },
    ],
  ])('gives a model %s', async (_, toolName, input, output) => {
    const { text, output: given } = await run(toolName, input);
    expect(text).toBe('done');
    expect(given).toMatchObject({ type: 'tool-result', toolName, output });
  });

  it('offers the schemas of the engine, and records each call', async () => {
    const { client, model } = await run('add', { a: 1, b: 2 });
    const [first] = model.doGenerateCalls;
    expect(first?.tools?.find((tool) => tool.name === 'add')).toMatchObject({
      description: 'Adds two numbers.',
      inputSchema: { type: 'object', required: ['a', 'b'] },
    });
    const recorded = [];
    for await (const call of client.list({ name: 'add' })) recorded.push(call.arguments);
    expect(recorded).toEqual(['{"a":1,"b":2}']);
  });

  it('4.10: cancels a call whose generation is aborted', async () => {
    const begun = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    const waits = defineTool({
      name: 'waits',
      description: 'Waits.',
      async execute(_, { signal }) {
        signal.addEventListener('abort', () => stopped.resolve());
        begun.resolve();
        await stopped.promise;
      },
    });
    const engine = await engineWith([waits]);
    const abort = new AbortController();
    const generation = generateText({
      model: modelCalling('waits', {}),
      tools: await aiSdkTools(spindleClient(engine.address)),
      stopWhen: stepCountIs(3),
      abortSignal: abort.signal,
      prompt: 'go',
    });
    generation.then(undefined, () => undefined);
    await begun.promise;
    abort.abort();
    await stopped.promise;
    await expect(generation).rejects.toThrow();
  });
});
