import {
  Agent,
  type Model,
  type ModelRequest,
  type ModelResponse,
  run,
  setTracingDisabled,
  Usage,
} from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { openaiAgentsTools } from '../../../src/sdk/adapters/openai-agents.ts';
import { engineWith, spindleClient } from '../../gateway/gateway.ts';
import { TOOLS } from './tools.ts';

setTracingDisabled(true);

/** A model that calls one tool, and then answers. */
function modelCalling(name: string, args: object) {
  const requests: ModelRequest[] = [];
  const model: Model = {
    async getResponse(request): Promise<ModelResponse> {
      requests.push(request);
      const output: ModelResponse['output'] =
        requests.length === 1
          ? [
              {
                type: 'function_call',
                callId: 'c',
                name,
                arguments: JSON.stringify(args),
                status: 'completed',
              },
            ]
          : [
              {
                type: 'message',
                role: 'assistant',
                status: 'completed',
                content: [{ type: 'output_text', text: 'done' }],
              },
            ];
      return { usage: new Usage(), output };
    },
    // biome-ignore lint/correctness/useYield: it is never asked to stream.
    async *getStreamedResponse() {
      throw new Error('not asked for');
    },
  };
  return { model, requests };
}

describe('the catalog as tools of the OpenAI Agents SDK', () => {
  it.each([
    ['a structured value', 'add', { a: 1, b: 2 }, { type: 'text', text: '{"sum":3}' }],
    ['a text', 'greet', {}, { type: 'text', text: 'Hello' }],
    ['a failure', 'failing', {}, { type: 'text', text: 'out of tea' }],
  ])('gives a model %s', async (_, name, args, output) => {
    const engine = await engineWith(TOOLS);
    const { model, requests } = modelCalling(name, args);
    const tools = await openaiAgentsTools(spindleClient(engine.address), { names: [name] });
    const result = await run(new Agent({ name: 'tester', model, tools }), 'go');
    expect(result.finalOutput).toBe('done');
    const [first, second] = requests;
    expect(first?.tools).toMatchObject([{ type: 'function', name, parameters: { type: 'object' } }]);
    const items = second?.input as readonly { type?: string }[];
    expect(items.find(({ type }) => type === 'function_call_result')).toMatchObject({ output });
  });

  it('gives a model a picture', async () => {
    const engine = await engineWith(TOOLS);
    const { model, requests } = modelCalling('picture', {});
    const tools = await openaiAgentsTools(spindleClient(engine.address));
    await run(new Agent({ name: 'tester', model, tools }), 'go');
    const items = requests[1]?.input as readonly { type?: string }[];
    expect(JSON.stringify(items.find(({ type }) => type === 'function_call_result'))).toMatch(/AQID/);
  });
});
