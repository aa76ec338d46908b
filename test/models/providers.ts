import { createModels, type ProviderModels } from '../../src/models/models.ts';
import type { ProviderKind, ProviderSettings } from '../../src/models/provider-settings.ts';
import { systemRandom } from '../../src/system.ts';
import { anthropicWire } from './wire/anthropic.ts';
import type { Answer } from './wire/conversation.ts';
import { googleWire } from './wire/google.ts';
import { openAiChatWire } from './wire/openai-chat.ts';
import { openAiResponsesWire } from './wire/openai-responses.ts';
import { serveWire, type Wire, type WireServer } from './wire/server.ts';

export const KINDS: readonly ProviderKind[] = [
  'anthropic',
  'openai',
  'openai-chat',
  'openai-compatible',
  'google',
];

/** What no error, event or log line may hold. */
export const KEY = 'key-3f9a7c41d2e8-not-for-logs';
export const SECRET_HEADER = 'header-71b5e09c-not-for-logs';

const MODEL_IDS: Readonly<Record<ProviderKind, string>> = {
  anthropic: 'claude-sonnet-4-5',
  openai: 'gpt-5-mini',
  'openai-chat': 'gpt-4o-mini',
  'openai-compatible': 'qwen3',
  google: 'gemini-3-flash-preview',
};

export function modelOf(kind: ProviderKind): string {
  return `${kind}/${MODEL_IDS[kind]}`;
}

export function wireOf(kind: ProviderKind): Wire {
  switch (kind) {
    case 'anthropic':
      return anthropicWire();
    case 'openai':
      return openAiResponsesWire();
    case 'openai-chat':
      return openAiChatWire({ compatible: false });
    case 'openai-compatible':
      return openAiChatWire({ compatible: true });
    case 'google':
      return googleWire();
  }
}

export interface Served extends AsyncDisposable {
  readonly server: WireServer;
  readonly models: ProviderModels;
  readonly reports: readonly (readonly unknown[])[];
}

export interface ServeOptions {
  readonly settings?: Partial<ProviderSettings>;
  readonly blobs?: ReadonlyMap<string, Uint8Array>;
}

/** A provider of a kind that answers as told, and the models that reach it under the name of the kind. */
export async function serveProvider(
  kind: ProviderKind,
  answers: readonly Answer[],
  { settings, blobs = new Map() }: ServeOptions = {},
): Promise<Served> {
  const server = await serveWire(wireOf(kind), answers);
  const reports: unknown[][] = [];
  const models = createModels({
    providers: { [kind]: { ...settingsOf(kind, server.url), ...settings } },
    blobs: { read: async (_, digest) => chunksOf(blobs.get(digest)) },
    random: systemRandom(),
    observer: { report: (...report) => reports.push(report) },
  });
  return { server, models, reports, [Symbol.asyncDispose]: () => server.stop() };
}

export function settingsOf(kind: ProviderKind, url: string): ProviderSettings {
  return {
    kind,
    baseUrl: `${url}/${kind === 'google' ? 'v1beta' : 'v1'}`,
    apiKeyEnv: 'TEST_KEY',
    readApiKey: () => KEY,
    headers: { 'x-team': SECRET_HEADER },
    streaming: true,
    timeoutMs: undefined,
  };
}

function chunksOf(bytes: Uint8Array | undefined): AsyncIterable<Uint8Array> | undefined {
  if (bytes === undefined) return undefined;
  return (async function* () {
    yield bytes.subarray(0, bytes.length / 2);
    yield bytes.subarray(bytes.length / 2);
  })();
}
