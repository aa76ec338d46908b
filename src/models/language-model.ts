import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ProviderSettings } from './provider-settings.ts';

/** Makes a provider's models by their ids. */
export type LanguageModels = (modelId: string) => LanguageModelV4;

/** Where each maker has its API. Said here, since the libraries would else look for variables of their own. */
const BASE_URLS = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  'openai-chat': 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
} as const;

/** Loads the library for a kind of provider: each takes some 50 ms, and most engines use one or two. */
export async function loadLanguageModels(name: string, settings: ProviderSettings): Promise<LanguageModels> {
  const { kind, headers } = settings;
  // The libraries would look for a variable of their own where the key is absent; a local server takes any.
  const apiKey = settings.readApiKey() ?? 'none';
  switch (kind) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      const provider = createAnthropic({ apiKey, baseURL: settings.baseUrl ?? BASE_URLS[kind], headers });
      return (modelId) => provider.languageModel(modelId);
    }
    case 'openai':
    case 'openai-chat': {
      const { createOpenAI } = await import('@ai-sdk/openai');
      const provider = createOpenAI({ apiKey, baseURL: settings.baseUrl ?? BASE_URLS[kind], headers });
      return (modelId) => (kind === 'openai' ? provider.responses(modelId) : provider.chat(modelId));
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google');
      const provider = createGoogleGenerativeAI({
        apiKey,
        baseURL: settings.baseUrl ?? BASE_URLS[kind],
        headers,
      });
      return (modelId) => provider.languageModel(modelId);
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const key = settings.readApiKey();
      const provider = createOpenAICompatible({
        name,
        baseURL: settings.baseUrl ?? '',
        headers,
        includeUsage: true,
        ...(key === undefined ? {} : { apiKey: key }),
      });
      return (modelId) => provider.languageModel(modelId);
    }
  }
}
