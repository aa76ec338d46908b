import { create } from '@bufbuild/protobuf';
import {
  type ChatMessage,
  ChatMessageSchema,
  type Part,
  PartSchema,
  Role,
} from '../gen/spindle/v1/message_pb.ts';
import { FinishReason, ModelResponseSchema } from '../gen/spindle/v1/trigger_pb.ts';
import type { EngineOptions } from '../src/main.ts';
import type { ModelProvider } from '../src/models/model-provider.ts';
import { ARGUMENTS, ECHO, HOLD } from './tools.ts';

/** What the model of an agent calls when it is asked; then it answers with a text. */
const CALLS = {
  talker: { tool: ECHO, calls: 0 },
  one: { tool: ECHO, calls: 1 },
  eight: { tool: ECHO, calls: 8 },
  holder: { tool: HOLD, calls: 1 },
};

export type BenchAgent = keyof typeof CALLS;

export const BENCH_AGENTS: NonNullable<EngineOptions['agents']> = Object.fromEntries(
  Object.keys(CALLS).map((name) => [
    name,
    { model: `bench/${name}`, system: 'Answer the question.', useTools: [ECHO, HOLD] },
  ]),
);

/** Takes no time of its own, and streams nothing. */
export const benchModel: ModelProvider = {
  async call({ callId, request }) {
    const { tool, calls } = CALLS[request.model.slice('bench/'.length) as BenchAgent];
    const isAsked = request.messages.at(-1)?.role === Role.USER;
    const wanted = isAsked ? calls : 0;
    const response = create(ModelResponseSchema, {
      message: wanted === 0 ? TEXT : callMessage(callId, tool, wanted),
      finishReason: wanted === 0 ? FinishReason.STOP : FinishReason.TOOL_CALLS,
      usage: { inputTokens: 100, outputTokens: 20 },
    });
    return { kind: 'response', response };
  },
};

const TEXT = create(ChatMessageSchema, {
  role: Role.ASSISTANT,
  parts: [{ kind: { case: 'content', value: { kind: { case: 'text', value: { text: 'It is sunny.' } } } } }],
});

function callMessage(modelCallId: string, name: string, calls: number): ChatMessage {
  const parts = Array.from({ length: calls }, (_, index): Part => {
    const value = { callId: `${modelCallId}.${index}`, name, arguments: ARGUMENTS };
    return create(PartSchema, { kind: { case: 'toolCall', value } });
  });
  return create(ChatMessageSchema, { role: Role.ASSISTANT, parts });
}
