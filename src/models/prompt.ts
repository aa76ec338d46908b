import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { type ChatMessage, type Part, Role } from '../../gen/spindle/v1/message_pb.ts';
import { EMPTY_CONTENT } from '../core/history.ts';
import type { BlobBytes } from './blob-bytes.ts';
import { blocksOf } from './blocks.ts';
import { providerMetadata } from './part-metadata.ts';
import type { ProviderTraits } from './provider-traits.ts';
import { filePart, resultOutput } from './result-output.ts';

export interface PromptContext {
  readonly traits: ProviderTraits;
  readonly bytes: BlobBytes;
  /** Our id of a call to the provider's. */
  readonly callId: (callId: string) => string;
  /** A tool's own name to the provider's. */
  readonly toolName: (name: string) => string;
}

type AssistantMessage = Extract<LanguageModelV4Message, { role: 'assistant' }>;
type UserMessage = Extract<LanguageModelV4Message, { role: 'user' }>;
type UserPart = UserMessage['content'][number];

/**
 * A repaired history (6.5) as the provider's library takes it: results of one answer in one message, instructions
 * where the provider wants them, the user first where it has to be.
 */
export function promptOf(messages: readonly ChatMessage[], context: PromptContext): LanguageModelV4Prompt {
  const { traits } = context;
  const names = callNames(messages);
  const prompt: LanguageModelV4Message[] = [];
  let behind: UserPart[] = [];
  const showBehind = (): void => {
    if (behind.length > 0) prompt.push({ role: 'user', content: behind });
    behind = [];
  };
  for (const message of messages) {
    if (message.role !== Role.TOOL) showBehind();
    switch (message.role) {
      case Role.SYSTEM:
        addInstructions(prompt, textOf(message), traits);
        break;
      case Role.USER:
        prompt.push({ role: 'user', content: userParts(message, context) });
        break;
      case Role.ASSISTANT:
        prompt.push({ role: 'assistant', content: assistantParts(message, context) });
        break;
      case Role.TOOL: {
        const { results, media } = toolParts(message, names, context);
        behind.push(...media);
        const last = prompt.at(-1);
        if (last?.role === 'tool') last.content.push(...results);
        else prompt.push({ role: 'tool', content: [...results] });
        break;
      }
      default:
        break;
    }
  }
  showBehind();
  const first = prompt.findIndex(({ role }) => role !== 'system');
  if (first < 0) prompt.push(placeholder());
  else if (traits.startsWithUser && prompt[first]?.role !== 'user') prompt.splice(first, 0, placeholder());
  return prompt;
}

function placeholder(): UserMessage {
  return { role: 'user', content: [{ type: 'text', text: EMPTY_CONTENT }] };
}

/** Instructions at the beginning are one message; later ones stay instructions where the provider knows them. */
function addInstructions(
  prompt: LanguageModelV4Message[],
  text: string,
  { laterInstructions }: ProviderTraits,
): void {
  const last = prompt.at(-1);
  if (last === undefined) prompt.push({ role: 'system', content: text });
  else if (last.role === 'system')
    prompt[prompt.length - 1] = { role: 'system', content: `${last.content}\n\n${text}` };
  else if (laterInstructions) prompt.push({ role: 'system', content: text });
  else prompt.push({ role: 'user', content: [{ type: 'text', text: `<system>\n${text}\n</system>` }] });
}

function userParts({ parts }: ChatMessage, { traits, bytes }: PromptContext): UserPart[] {
  return parts.flatMap(({ kind, providerMetadataJson }): UserPart[] =>
    kind.case !== 'content'
      ? []
      : blocksOf([kind.value], traits.media, bytes).map((block) => ({
          ...(block.kind === 'text' ? { type: 'text' as const, text: block.text } : filePart(block)),
          ...providerOptions(providerMetadataJson, traits),
        })),
  );
}

function assistantParts({ parts }: ChatMessage, context: PromptContext): AssistantMessage['content'] {
  const { traits } = context;
  return parts.flatMap((part): AssistantMessage['content'] => {
    const { kind } = part;
    const options = providerOptions(part.providerMetadataJson, traits);
    switch (kind.case) {
      case 'content':
        // What a model drew is named to it: providers take no pictures of the assistant's.
        return blocksOf([kind.value], new Set(), context.bytes).flatMap((block) =>
          block.kind === 'text' ? [{ type: 'text', text: block.text, ...options }] : [],
        );
      case 'reasoning':
        return isForeign(part, traits) ? [] : [{ type: 'reasoning', text: kind.value.text, ...options }];
      case 'toolCall': {
        const { callId, name, arguments: text } = kind.value;
        return [
          {
            type: 'tool-call',
            toolCallId: context.callId(callId),
            toolName: context.toolName(name),
            input: argumentsInput(text),
            ...options,
          },
        ];
      }
      default:
        return [];
    }
  });
}

/**
 * As text, which the libraries that send text send as it is. They take no text with the keys of prototypes, so such
 * arguments go as a value, which they write anew.
 */
function argumentsInput(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return hasPrototypeKeys(value) ? value : text;
}

function hasPrototypeKeys(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!Array.isArray(value) && (Object.hasOwn(value, '__proto__') || Object.hasOwn(value, 'constructor')))
    return true;
  return Object.values(value).some(hasPrototypeKeys);
}

function toolParts(
  { parts }: ChatMessage,
  names: ReadonlyMap<string, string>,
  context: PromptContext,
): { readonly results: readonly LanguageModelV4ToolResultPart[]; readonly media: readonly UserPart[] } {
  const media: UserPart[] = [];
  const results = parts.flatMap(({ kind }): LanguageModelV4ToolResultPart[] => {
    if (kind.case !== 'toolResult') return [];
    const { callId, name } = kind.value;
    const { output, behind } = resultOutput(kind.value, context.traits, context.bytes);
    media.push(...behind);
    const toolName = context.toolName(names.get(callId) ?? name);
    return [{ type: 'tool-result', toolCallId: context.callId(callId), toolName, output }];
  });
  return { results, media };
}

/** The name under which the model made each call: its result goes back under the same. */
function callNames(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const calls = messages.flatMap(({ parts }) => parts.map(({ kind }) => kind));
  return new Map(
    calls.flatMap((kind) => (kind.case === 'toolCall' ? [[kind.value.callId, kind.value.name]] : [])),
  );
}

/** What this provider attached to a part goes back untouched; what another attached means nothing to it. */
function providerOptions(
  json: string,
  { namespace }: ProviderTraits,
): { readonly providerOptions?: SharedV4ProviderMetadata } {
  const own = providerMetadata(json)[namespace];
  return own === undefined ? {} : { providerOptions: { [namespace]: own } };
}

/** Reasoning that another provider wrote: only its own can be verified. */
function isForeign({ providerMetadataJson }: Part, { namespace }: ProviderTraits): boolean {
  const provider = providerMetadata(providerMetadataJson);
  return Object.keys(provider).length > 0 && provider[namespace] === undefined;
}

function textOf({ parts }: ChatMessage): string {
  return parts
    .flatMap(({ kind }) =>
      kind.case === 'content' && kind.value.kind.case === 'text' ? kind.value.kind.value.text : [],
    )
    .join('\n\n');
}
