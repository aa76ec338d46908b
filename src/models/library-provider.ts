import type { JSONObject, LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { ChatMessage } from '../../gen/spindle/v1/message_pb.ts';
import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { failure } from '../core/failure.ts';
import { MAX_ID_CHARS } from '../core/limits.ts';
import type { Blobs, ModelAnswer, ModelCall, Random, ToolLeftOut } from '../engine/ports.ts';
import { type ReadAnswer, readAnswer } from './answer.ts';
import { readBlobs } from './blob-bytes.ts';
import { providerCallIds } from './call-ids.ts';
import { type CallSettings, readCallSettings } from './call-settings.ts';
import { type LanguageModels, loadLanguageModels } from './language-model.ts';
import { type FailureContext, modelFailure } from './model-failure.ts';
import type { ModelProvider } from './model-provider.ts';
import { createOfferTools, type OfferedTools } from './offered-tools.ts';
import { promptOf } from './prompt.ts';
import type { ProviderSettings } from './provider-settings.ts';
import { type ProviderTraits, traitsOf } from './provider-traits.ts';
import { createRedaction, secretsOfUrl } from './redaction.ts';
import { createToolNames, type ToolNames } from './tool-names.ts';
import { wholeAnswer } from './whole-answer.ts';

export interface LibraryProviderOptions {
  /** Its name in the configuration. */
  readonly name: string;
  readonly settings: ProviderSettings;
  /** Where the bytes of pictures and long texts are. */
  readonly blobs: Pick<Blobs, 'read'>;
  /** Makes ids of calls where the provider gave none that can be used (6.5). */
  readonly random: Pick<Random, 'token'>;
  /** Hears of each tool that a request went without (2.6). */
  readonly onLeftOut: (model: string, tool: ToolLeftOut) => void;
}

export interface LibraryProvider extends ModelProvider {
  /** The tools that its requests go without, and why (2.6). */
  leftOut(tools: readonly Tool[]): readonly ToolLeftOut[];
}

/** A provider that is called through its library of the AI SDK. */
export function createLibraryProvider(options: LibraryProviderOptions): LibraryProvider {
  const { name, settings, blobs, random } = options;
  const traits = traitsOf(settings.kind, name);
  const offer = createOfferTools(settings.kind, traits);
  const failing: FailureContext = {
    provider: name,
    apiKeyEnv: settings.apiKeyEnv,
    redact: createRedaction([
      settings.readApiKey(),
      ...Object.values(settings.headers),
      ...secretsOfUrl(settings.baseUrl),
    ]),
  };
  let loading: Promise<LanguageModels> | undefined;

  async function call(modelCall: ModelCall): Promise<ModelAnswer> {
    const { request, tenant } = modelCall;
    const read = readCallSettings(request.settingsJson);
    if (!read.ok) return failed(failure('provider_error', read.problem));
    const names = createToolNames(
      [...request.tools.map((tool) => tool.name), ...calledNames(request.messages)],
      traits.toolName,
    );
    const offered = offer(request.tools, names);
    for (const tool of offered.leftOut) options.onLeftOut(request.model, tool);
    const bytes = await readBlobs(request.messages, traits.media, tenant, blobs).catch(unreadable);
    if (bytes === undefined) return failed(failure('internal', UNREADABLE, { retryable: true }));
    const prompt = promptOf(request.messages, {
      traits,
      bytes,
      callId: providerCallIds(request.messages, name, traits),
      toolName: names.toProvider,
    });
    return ask(modelCall, names, offered, {
      prompt,
      ...read.settings.options,
      ...toolOptions(request.messages, offered, names, read.settings, traits),
      providerOptions: { [traits.namespace]: libraryOptions(settings, read.settings) },
    });
  }

  async function ask(
    modelCall: ModelCall,
    names: ToolNames,
    { nullForAbsent }: OfferedTools,
    callOptions: LanguageModelV4CallOptions,
  ): Promise<ModelAnswer> {
    const { request, signal } = modelCall;
    const { timeoutMs } = settings;
    const timeout = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
    // One signal of our own, so that whatever ends the reading closes the request.
    const stop = new AbortController();
    const abortSignal = AbortSignal.any([signal, stop.signal, ...(timeout === undefined ? [] : [timeout])]);
    const modelId = request.model.slice(request.model.indexOf('/') + 1);
    const used = new Set(callIdsIn(request.messages));
    try {
      loading ??= loadLanguageModels(name, settings);
      const model = (await loading)(modelId);
      const sent = { ...callOptions, abortSignal };
      const parts = settings.streaming
        ? (await model.doStream(sent)).stream
        : wholeAnswer(await model.doGenerate(sent));
      const answer = await readAnswer(parts, {
        modelCallId: modelCall.callId,
        callId: (provided) => ownCallId(provided, used, random),
        toolName: names.fromProvider,
        ownMetadata: (toolName, provided, callId) => ({
          ...(provided === callId ? {} : { provider: name, callId: provided }),
          ...(nullForAbsent.has(toolName) ? { nullForAbsent: true } : {}),
        }),
        onDelta: modelCall.onDelta,
      });
      return answerOf(answer, failing);
    } catch (error) {
      if (timeout?.aborted === true && !signal.aborted) {
        return failed(
          failure('provider_error', `The provider ${name} did not answer within ${timeoutMs} ms.`, {
            retryable: true,
          }),
        );
      }
      if (signal.aborted) return failed(failure('cancelled', 'The model call was cancelled.'));
      return failed(modelFailure(error, failing));
    } finally {
      stop.abort();
    }
  }

  return {
    call,
    leftOut: (tools) =>
      offer(
        tools,
        createToolNames(
          tools.map((tool) => tool.name),
          traits.toolName,
        ),
      ).leftOut,
    fault: () => keyFault(name, settings),
  };
}

const UNREADABLE =
  'The pictures and texts of the conversation cannot be read from the blob store at the moment.';

/** The store's own failures pass; anything else that a read rejects with is a bug. */
function unreadable(error: unknown): undefined {
  if (error instanceof Error && error.name === 'JournalError') return undefined;
  throw error;
}

/** Why a provider cannot be called for want of a key. */
function keyFault(name: string, { apiKeyEnv, readApiKey }: ProviderSettings): string | undefined {
  if (apiKeyEnv === undefined || readApiKey() !== undefined) return undefined;
  return `the provider ${name} has no key: set ${apiKeyEnv} in the environment of the engine`;
}

function failed(problem: Failure): ModelAnswer {
  return { kind: 'failure', failure: problem };
}

function answerOf(answer: ReadAnswer, context: FailureContext): ModelAnswer {
  const { provider } = context;
  switch (answer.kind) {
    case 'response':
      return answer;
    case 'error':
      return failed(modelFailure(answer.error, context));
    case 'broken_off':
      return failed(
        failure('provider_error', `The answer of the provider ${provider} broke off before its end.`, {
          retryable: true,
        }),
      );
    case 'withheld':
      return failed(failure('refused', `The provider ${provider} withheld the answer.`));
    case 'too_large':
      return failed(failure('provider_error', `The answer of the provider ${provider} ${answer.what}.`));
  }
}

/**
 * The provider's id where it names one call of the conversation alone, else one of our own (6.5). Characters that do
 * not print would hide in logs.
 */
function ownCallId(provided: string, used: Set<string>, { token }: Pick<Random, 'token'>): string {
  const usable = provided.length <= MAX_ID_CHARS && /^[\x21-\x7e]+$/.test(provided) && !used.has(provided);
  const callId = usable ? provided : `call_${token()}`;
  used.add(callId);
  return callId;
}

function callIdsIn(messages: readonly ChatMessage[]): readonly string[] {
  return calls(messages).map(({ callId }) => callId);
}

function calledNames(messages: readonly ChatMessage[]): readonly string[] {
  return calls(messages).map(({ name }) => name);
}

function calls(
  messages: readonly ChatMessage[],
): readonly { readonly callId: string; readonly name: string }[] {
  return messages
    .flatMap(({ parts }) => parts)
    .flatMap(({ kind }) => (kind.case === 'toolCall' ? kind.value : []));
}

function toolOptions(
  messages: readonly ChatMessage[],
  { tools }: OfferedTools,
  names: ToolNames,
  { toolChoice }: CallSettings,
  { definesCalledTools }: ProviderTraits,
): Pick<LanguageModelV4CallOptions, 'tools' | 'toolChoice'> {
  if (tools.length > 0) {
    if (toolChoice === undefined) return { tools };
    if (typeof toolChoice === 'string') return { tools, toolChoice: { type: toolChoice } };
    return { tools, toolChoice: { type: 'tool', toolName: names.toProvider(toolChoice.name) } };
  }
  const called = [...new Set(calledNames(messages))];
  if (called.length === 0 || !definesCalledTools) return {};
  return { tools: called.map((name) => stub(names.toProvider(name))), toolChoice: { type: 'none' } };
}

/** Stands for a tool that the history calls and that is not offered: the provider wants to know its name. */
function stub(name: string): LanguageModelV4FunctionTool {
  return { type: 'function', name, inputSchema: { type: 'object', properties: {} } };
}

/** What holds for a kind of provider unless the agent's settings say otherwise. */
function libraryOptions({ kind }: ProviderSettings, { providerOptions }: CallSettings): JSONObject {
  // The conversation is kept here: the provider need not keep it, and reasoning comes back with every request.
  return kind === 'openai' ? { store: false, ...providerOptions } : providerOptions;
}
