/** Values as transcripts write them: JSON of the contract's messages, with short forms of what occurs everywhere. */
import { create, fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { type AgentConfig, AgentConfigSchema } from '../../../../gen/spindle/v1/agent_pb.ts';
import { type ChatMessage, ChatMessageSchema, Role } from '../../../../gen/spindle/v1/message_pb.ts';
import { ToolResultSchema } from '../../../../gen/spindle/v1/result_pb.ts';
import { type Tool, ToolSchema } from '../../../../gen/spindle/v1/tool_pb.ts';
import type { SettleCallRequest } from '../../../../gen/spindle/v1/tool_service_pb.ts';
import { type TurnInput, TurnInputSchema } from '../../../../gen/spindle/v1/trigger_pb.ts';
import { failure } from '../../../../src/core/failure.ts';
import { textMessage } from '../../../../src/core/loop/messages.ts';

/** A name alone, or JSON of a Tool in which schemas may be written as JSON. */
export function toolOf(text: string): Tool {
  if (!text.startsWith('{')) return create(ToolSchema, { name: text, description: `The tool ${text}.` });
  return fromJson(ToolSchema, withTexts(JSON.parse(text) as JsonObject));
}

export function agentOf(text: string): AgentConfig {
  const value = text.trim() === '' ? {} : (JSON.parse(text) as JsonObject);
  const given = { model: 'scripted/test', useTools: ['*'], ...value };
  return fromJson(AgentConfigSchema, withTexts(given as JsonObject));
}

/** Fields that hold JSON text may be written as what they say. */
function withTexts(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withTexts);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const isText = name.endsWith('Json') && typeof member !== 'string';
      return [name, isText ? JSON.stringify(member) : withTexts(member)];
    }),
  );
}

/** The input of a turn: the user's text, or JSON of TurnInput. */
export function inputOf(lines: readonly string[]): TurnInput {
  const text = lines.join('\n');
  if (text.startsWith('{')) return fromJson(TurnInputSchema, withTexts(JSON.parse(text) as JsonObject));
  return create(TurnInputSchema, {
    kind: { case: 'messages', value: { messages: [textMessage(Role.USER, text)] } },
  });
}

/** Results of client-side calls, one a line: the call, and how it ended. */
export function resultsOf(lines: readonly string[]): TurnInput {
  const messages = lines.map((line): ChatMessage => {
    const [callId = '', ...rest] = line.split(' ');
    return create(ChatMessageSchema, {
      role: Role.TOOL,
      parts: [{ kind: { case: 'toolResult', value: { callId, outcome: settlementOf(rest.join(' ')) } } }],
    });
  });
  return create(TurnInputSchema, { kind: { case: 'messages', value: { messages } } });
}

export function settlementOf(text: string): SettleCallRequest['outcome'] {
  const [word, code = '', ...rest] = text.split(' ');
  if (word === 'error') {
    return { case: 'error', value: { ...failure('tool_error', rest.join(' ')), code } };
  }
  const { parts } = textMessage(Role.USER, text);
  const content = parts.flatMap(({ kind }) => (kind.case === 'content' ? [kind.value] : []));
  return { case: 'result', value: create(ToolResultSchema, { content }) };
}
