import { create, isMessage, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatMessage,
  ChatMessageSchema,
  type Delta,
  DeltaSchema,
  type PartSchema,
  Role,
  type UsageSchema,
} from '../../../gen/spindle/v1/message_pb.ts';
import { FinishReason, type ModelResponse, ModelResponseSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { text } from '../content.ts';
import { type JsonObject, jsonText } from '../json.ts';
import { type Members, refuseUnknown } from '../known-members.ts';

/** What a model answered, beside what it said. */
export interface ModelFacts {
  /** Why it stopped. Where it is not given: `tool_calls` if there are any, else `stop`. */
  readonly finishReason?: keyof typeof FINISH_REASONS;
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly cachedInputTokens?: number;
    readonly reasoningTokens?: number;
  };
  /** The provider's own name of the model that answered. */
  readonly responseModel?: string;
  /** The provider's id for the response. */
  readonly responseId?: string;
}

/** What a model answered. */
export interface ModelReply extends ModelFacts {
  readonly text?: string;
  readonly reasoning?: string;
  /** Arguments are sent byte for byte where they are text. */
  readonly toolCalls?: readonly {
    readonly callId?: string;
    readonly name: string;
    readonly arguments: string | JsonObject;
  }[];
}

/** A piece of an answer: text, reasoning, more of a tool call (told apart by its `callId`), or facts. */
export type ModelPart =
  | string
  | { readonly text: string }
  | { readonly reasoning: string }
  | { readonly toolCall: { readonly callId: string; readonly name?: string; readonly arguments?: string } }
  | ModelFacts;

const FINISH_REASONS = {
  stop: FinishReason.STOP,
  tool_calls: FinishReason.TOOL_CALLS,
  length: FinishReason.LENGTH,
  content_filter: FinishReason.CONTENT_FILTER,
  other: FinishReason.OTHER,
} as const;

const FACTS: Members<ModelFacts> = { finishReason: true, usage: true, responseModel: true, responseId: true };
const REPLY: Members<ModelReply> = { ...FACTS, text: true, reasoning: true, toolCalls: true };

type PartInit = MessageInitShape<typeof PartSchema>;

/** The response that a handler's promise stands for: text alone, the members of a reply, or the message itself. */
export function responseOf(reply: string | ModelReply | ModelResponse): ModelResponse {
  if (isMessage(reply, ModelResponseSchema)) return reply;
  if (typeof reply === 'string') return responseOf({ text: reply });
  if (typeof reply !== 'object' || reply === null) {
    throw new Error(
      'a model handler gives text, a reply { text, toolCalls, … }, or an async iterable of parts',
    );
  }
  refuseUnknown(reply, REPLY, 'the reply of the model');
  const parts: PartInit[] = [];
  if (reply.reasoning !== undefined) {
    parts.push({ kind: { case: 'reasoning', value: { text: reply.reasoning } } });
  }
  if (reply.text !== undefined) parts.push({ kind: { case: 'content', value: text(reply.text) } });
  for (const call of reply.toolCalls ?? []) {
    const { callId = '', name, arguments: given } = call;
    const value = {
      callId,
      name,
      arguments: typeof given === 'string' ? given : jsonText(given, 'the arguments'),
    };
    parts.push({ kind: { case: 'toolCall', value } });
  }
  return withFacts(create(ChatMessageSchema, { role: Role.ASSISTANT, parts }), reply);
}

function withFacts(message: ChatMessage, facts: ModelFacts): ModelResponse {
  const callsTools = message.parts.some(({ kind }) => kind.case === 'toolCall');
  const usage: MessageInitShape<typeof UsageSchema> | undefined = facts.usage;
  return create(ModelResponseSchema, {
    message,
    finishReason: FINISH_REASONS[facts.finishReason ?? (callsTools ? 'tool_calls' : 'stop')],
    responseModel: facts.responseModel ?? '',
    responseId: facts.responseId ?? '',
    ...(usage === undefined ? {} : { usage }),
  });
}

/** Puts the pieces of an answer together. */
export interface ReplyBuilder {
  /** What watchers of the call see of a piece; undefined for facts. Throws an Error for what is no piece. */
  add(part: ModelPart): Delta | undefined;
  response(): ModelResponse;
}

export function createReplyBuilder(modelCallId: string): ReplyBuilder {
  const parts: PartInit[] = [];
  const calls = new Map<string, { callId: string; name: string; arguments: string }>();
  let facts: ModelFacts = {};

  function addText(kind: 'text' | 'reasoning', more: string): Delta {
    const last = parts.at(-1)?.kind;
    if (kind === 'text') {
      if (last?.case === 'content' && last.value.kind?.case === 'text') last.value.kind.value.text += more;
      else parts.push({ kind: { case: 'content', value: text(more) } });
    } else if (last?.case === 'reasoning') last.value.text += more;
    else parts.push({ kind: { case: 'reasoning', value: { text: more } } });
    return create(DeltaSchema, { callId: modelCallId, kind: { case: kind, value: more } });
  }

  return {
    add(part) {
      if (typeof part === 'string') return addText('text', part);
      if (typeof part !== 'object' || part === null) throw new Error(NO_PART);
      if ('text' in part) return addText('text', part.text);
      if ('reasoning' in part) return addText('reasoning', part.reasoning);
      if ('toolCall' in part) {
        const { callId, name = '', arguments: more = '' } = part.toolCall;
        const known = calls.get(callId);
        if (known === undefined) {
          const value = { callId, name, arguments: more };
          calls.set(callId, value);
          parts.push({ kind: { case: 'toolCall', value } });
        } else {
          known.name ||= name;
          known.arguments += more;
        }
        const value = { callId, name: known?.name ?? name, arguments: more };
        return create(DeltaSchema, { callId: modelCallId, kind: { case: 'toolCall', value } });
      }
      refuseUnknown(part, FACTS, NO_PART);
      facts = { ...facts, ...part };
      return undefined;
    },
    response: () => withFacts(create(ChatMessageSchema, { role: Role.ASSISTANT, parts }), facts),
  };
}

const NO_PART = "a part of a model's answer is text, { text }, { reasoning }, { toolCall } or facts about it";
