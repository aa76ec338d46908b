import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { ModelResponseSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import type { ModelProvider } from '../../src/models/model-provider.ts';
import { createModels } from '../../src/models/models.ts';
import { systemRandom } from '../../src/system.ts';
import { ask } from './driver.ts';
import { serveProvider, settingsOf } from './providers.ts';
import { answer } from './wire/conversation.ts';

const echo: ModelProvider = {
  call: async ({ request }) => ({
    kind: 'response',
    response: create(ModelResponseSchema, { responseModel: request.model }),
  }),
};

function modelsOf(options: Partial<Parameters<typeof createModels>[0]> = {}) {
  return createModels({
    providers: {
      anthropic: { ...settingsOf('anthropic', 'http://127.0.0.1:1'), readApiKey: () => undefined },
    },
    builtIn: { scripted: echo },
    blobs: { read: async () => undefined },
    random: systemRandom(),
    observer: { report: () => undefined },
    ...options,
  });
}

describe('a model', () => {
  it.each([
    ['haiku', 'the model "haiku" has to be provider/model; there are the providers anthropic, scripted'],
    ['/haiku', 'the model "/haiku" has to be provider/model; there are the providers anthropic, scripted'],
    [
      'anthropic/',
      'the model "anthropic/" has to be provider/model; there are the providers anthropic, scripted',
    ],
    [
      'mistral/large',
      'there is no provider "mistral": add [providers.mistral] to the configuration, or use one of anthropic, scripted',
    ],
    ['anthropic/haiku', 'the provider anthropic has no key: set TEST_KEY in the environment of the engine'],
    ['scripted/anything', undefined],
  ])('%s: what keeps it from being called is known before', async (model, fault) => {
    expect(modelsOf().fault(model)).toBe(fault);
    const given = await ask(modelsOf(), model);
    expect(given.kind === 'failure' ? given.failure : undefined).toEqual(
      fault === undefined
        ? undefined
        : expect.objectContaining({ code: 'provider_error', message: fault, retryable: false }),
    );
  });

  it('may have slashes in its id, and its provider gets the id whole', async () => {
    await using served = await serveProvider('openai-compatible', [answer({ text: ['hi'] })]);
    await ask(served.models, 'openai-compatible/meta/llama-4');
    expect(served.server.requests[0]?.body['model']).toBe('meta/llama-4');
  });

  it('needs no key where its provider has none, and none is sent', async () => {
    await using served = await serveProvider('openai-compatible', [answer({ text: ['hi'] })], {
      settings: { apiKeyEnv: undefined, readApiKey: () => undefined },
    });
    expect(served.models.fault('openai-compatible/x')).toBeUndefined();
    expect(await ask(served.models, 'openai-compatible/x')).toMatchObject({ kind: 'response' });
    expect(served.server.requests[0]?.headers['authorization']).toBeUndefined();
  });

  it('gets the headers of the configuration', async () => {
    await using served = await serveProvider('google', [answer({ text: ['hi'] })], {
      settings: { headers: { 'x-team': 'blue' } },
    });
    await ask(served.models, 'google/gemini-3');
    expect(served.server.requests[0]?.headers['x-team']).toBe('blue');
  });
});
