import { createHash } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatMessage,
  ChatMessageSchema,
  type Delta,
  type PartSchema,
  Role,
  type ToolCallPart,
} from '../../gen/spindle/v1/message_pb.ts';
import { type Tool, ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { ModelRequestSchema, type ModelResponse } from '../../gen/spindle/v1/trigger_pb.ts';
import { repairHistory } from '../../src/core/history.ts';
import type { ModelAnswer, Models } from '../../src/engine/ports.ts';
import type { Answer, AnswerCall, Conversation } from './wire/conversation.ts';

type PartInit = MessageInitShape<typeof PartSchema>;

export interface Spoken {
  /** What the model answered, in order. A failure ends the conversation. */
  readonly answers: readonly ModelAnswer[];
  /** The conversation, as it would be on record. */
  readonly messages: readonly ChatMessage[];
  readonly deltas: readonly Delta[];
  /** What had to be changed before each request (6.5). */
  readonly repairs: readonly string[];
}

const LOOK = JSON.stringify({
  type: 'object',
  properties: { where: { type: 'string', description: 'A town.' } },
  required: ['where'],
});

export function toolsOf({ tools }: Pick<Conversation, 'tools'>): Tool[] {
  return [
    create(ToolSchema, { name: 'look', description: 'Looks at the weather.', inputSchemaJson: LOOK }),
    ...tools.map((name) =>
      create(ToolSchema, {
        name,
        description: 'Does something.',
        inputSchemaJson: '{"type":"object","properties":{}}',
      }),
    ),
  ];
}

export function textPart(text: string): PartInit {
  return { kind: { case: 'content', value: { kind: { case: 'text', value: { text } } } } };
}

export function message(role: Role, ...parts: PartInit[]): ChatMessage {
  return create(ChatMessageSchema, { role, parts });
}

export const OPENING = [
  message(Role.SYSTEM, textPart('Be brief.')),
  message(Role.USER, textPart('How is the weather?')),
];

export interface AskOptions {
  readonly messages?: readonly ChatMessage[];
  readonly tools?: readonly Tool[];
  readonly settings?: string;
  readonly signal?: AbortSignal;
  readonly onDelta?: (delta: Delta) => void;
}

/** One model call. */
export async function ask(models: Models, model: string, options: AskOptions = {}): Promise<ModelAnswer> {
  const { messages = OPENING, tools = toolsOf({ tools: [] }), settings = '' } = options;
  return models.call({
    tenant: 'default',
    callId: 'model_1',
    attempt: 1,
    request: create(ModelRequestSchema, {
      model,
      messages: [...messages],
      tools: [...tools],
      settingsJson: settings,
    }),
    traceContext: {},
    signal: options.signal ?? new AbortController().signal,
    onDelta: options.onDelta ?? (() => undefined),
  });
}

/** Plays a conversation to its end: every call gets the result that the file has for it. */
export async function converse(
  models: Models,
  model: string,
  conversation: Conversation,
  blobs = new Map<string, Uint8Array>(),
): Promise<Spoken> {
  const answers: ModelAnswer[] = [];
  const deltas: Delta[] = [];
  const repairs: string[] = [];
  const messages: ChatMessage[] = [...OPENING];
  for (const told of conversation.answers) {
    const repaired = repairHistory(messages);
    repairs.push(...repaired.repairs);
    const answer = await ask(models, model, {
      messages: repaired.messages,
      tools: toolsOf(conversation),
      onDelta: (delta) => deltas.push(delta),
    });
    answers.push(answer);
    if (answer.kind === 'failure') break;
    const { message: said } = answer.response;
    if (said === undefined) throw new Error('an answer without a message');
    messages.push(said, ...resultsOf(callsIn(answer.response), told, blobs));
    if (callsIn(answer.response).length === 0) messages.push(message(Role.USER, textPart('Go on.')));
  }
  return { answers, messages, deltas, repairs };
}

export function callsIn({ message: said }: ModelResponse): readonly ToolCallPart[] {
  return (said?.parts ?? []).flatMap(({ kind }) => (kind.case === 'toolCall' ? kind.value : []));
}

export function textIn({ message: said }: ModelResponse): string {
  return (said?.parts ?? [])
    .flatMap(({ kind }) =>
      kind.case === 'content' && kind.value.kind.case === 'text' ? kind.value.kind.value.text : [],
    )
    .join('');
}

function resultsOf(
  calls: readonly ToolCallPart[],
  told: Answer,
  blobs: Map<string, Uint8Array>,
): ChatMessage[] {
  return calls.map((call, at) => message(Role.TOOL, resultPart(call, told.calls[at], blobs)));
}

function resultPart(
  { callId, name }: ToolCallPart,
  told: AnswerCall | undefined,
  blobs: Map<string, Uint8Array>,
): PartInit {
  const { text, image, error, structured } = told?.result ?? { text: 'ok' };
  if (error !== undefined) {
    const value = {
      callId,
      name,
      outcome: { case: 'error' as const, value: { message: error, code: 'tool_error' } },
    };
    return { kind: { case: 'toolResult', value } };
  }
  const content = [
    ...(text === undefined ? [] : [{ kind: { case: 'text' as const, value: { text } } }]),
    ...(image === undefined ? [] : [{ kind: { case: 'blob' as const, value: blobOf(image, blobs) } }]),
  ];
  const result = {
    content,
    detailsJson: '{"secret":"details-for-people"}',
    presentation: [{ eventType: 'chart', payloadJson: '"presentation-for-people"' }],
    ...(structured === undefined ? {} : { structuredJson: structured }),
  };
  return {
    kind: { case: 'toolResult', value: { callId, name, outcome: { case: 'result', value: result } } },
  };
}

/** As the engine records bytes: a reference, and the bytes in the store. */
function blobOf(
  base64: string,
  blobs: Map<string, Uint8Array>,
): { uri: string; mimeType: string; sizeBytes: bigint } {
  const bytes = Buffer.from(base64, 'base64');
  const digest = `sha256-${createHash('sha256').update(bytes).digest('hex')}`;
  blobs.set(digest, bytes);
  return { uri: `blob:${digest}`, mimeType: 'image/png', sizeBytes: BigInt(bytes.length) };
}
