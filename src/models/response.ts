import type {
  LanguageModelV4FinishReason,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { ChatMessageSchema, type PartSchema, Role } from '../../gen/spindle/v1/message_pb.ts';
import { FinishReason, type ModelResponse, ModelResponseSchema } from '../../gen/spindle/v1/trigger_pb.ts';
import type { OwnMetadata } from '../core/own-metadata.ts';
import { metadataJson } from './part-metadata.ts';

type PartInit = MessageInitShape<typeof PartSchema>;

/** A part of the answer while it comes in. */
export type Draft =
  | { readonly kind: 'text' | 'reasoning'; text: string; metadata: SharedV4ProviderMetadata | undefined }
  | { readonly kind: 'file'; readonly mediaType: string; readonly data: Uint8Array }
  | {
      readonly kind: 'call';
      readonly provided: string;
      readonly callId: string;
      readonly name: string;
      /** Byte for byte as they came; the library's own reading is only taken where nothing came. */
      arguments: string;
      metadata: SharedV4ProviderMetadata | undefined;
      /** The library has seen its end. */
      ended: boolean;
    };

/** How an answer ended, as its provider says. */
export interface AnswerEnd {
  readonly finishReason: LanguageModelV4FinishReason;
  readonly usage: LanguageModelV4Usage;
}

/** What Spindle keeps on a call's part, by its name, the provider's id and ours. */
export type OwnMetadataOf = (toolName: string, provided: string, callId: string) => OwnMetadata;

/** The response that an answer makes once it has ended. */
export function responseOf(
  drafts: readonly Draft[],
  { finishReason, usage }: AnswerEnd,
  { id, model }: { readonly id: string; readonly model: string },
  ownMetadata: OwnMetadataOf,
): ModelResponse {
  return create(ModelResponseSchema, {
    message: create(ChatMessageSchema, {
      role: Role.ASSISTANT,
      parts: drafts
        .filter((draft) => saysSomething(draft, drafts))
        .map((draft) => partOf(draft, ownMetadata)),
    }),
    finishReason: finishReasonOf(
      finishReason.unified,
      drafts.some(({ kind }) => kind === 'call'),
    ),
    usage: usageOf(usage),
    responseModel: model,
    responseId: id,
  });
}

function saysSomething(draft: Draft, drafts: readonly Draft[]): boolean {
  switch (draft.kind) {
    case 'file':
      return true;
    case 'call':
      // Announced, and then written under the same id again: the second is the call.
      return (
        draft.ended ||
        draft.arguments !== '' ||
        !drafts.some((other) => other !== draft && other.kind === 'call' && other.provided === draft.provided)
      );
    default:
      return draft.text !== '' || draft.metadata !== undefined;
  }
}

function partOf(draft: Draft, ownMetadata: OwnMetadataOf): PartInit {
  switch (draft.kind) {
    case 'text':
      return {
        kind: { case: 'content', value: { kind: { case: 'text', value: { text: draft.text } } } },
        providerMetadataJson: metadataJson(draft.metadata),
      };
    case 'reasoning':
      return {
        kind: { case: 'reasoning', value: { text: draft.text } },
        providerMetadataJson: metadataJson(draft.metadata),
      };
    case 'file': {
      const { mediaType: mimeType, data } = draft;
      const kind = mimeType.startsWith('audio/') ? 'audio' : 'image';
      return { kind: { case: 'content', value: { kind: { case: kind, value: { mimeType, data } } } } };
    }
    case 'call': {
      const { callId, name, provided, metadata } = draft;
      return {
        kind: { case: 'toolCall', value: { callId, name, arguments: draft.arguments } },
        providerMetadataJson: metadataJson(metadata, ownMetadata(name, provided, callId)),
      };
    }
  }
}

function finishReasonOf(unified: LanguageModelV4FinishReason['unified'], hasCalls: boolean): FinishReason {
  switch (unified) {
    case 'length':
      return FinishReason.LENGTH;
    case 'content-filter':
      return FinishReason.CONTENT_FILTER;
    case 'tool-calls':
      return FinishReason.TOOL_CALLS;
    case 'stop':
      // Many servers say so though the model called tools.
      return hasCalls ? FinishReason.TOOL_CALLS : FinishReason.STOP;
    default:
      return hasCalls ? FinishReason.TOOL_CALLS : FinishReason.OTHER;
  }
}

function usageOf({
  inputTokens,
  outputTokens,
}: LanguageModelV4Usage): NonNullable<MessageInitShape<typeof ModelResponseSchema>['usage']> {
  return {
    inputTokens: count(inputTokens.total),
    outputTokens: count(outputTokens.total),
    cachedInputTokens: count(inputTokens.cacheRead),
    reasoningTokens: count(outputTokens.reasoning),
  };
}

const MAX_UINT32 = 0xffff_ffff;

/** Foreign: whatever it is, it has to fit the field. */
function count(tokens: number | undefined): number {
  return tokens === undefined || !(tokens > 0) ? 0 : Math.min(Math.round(tokens), MAX_UINT32);
}
