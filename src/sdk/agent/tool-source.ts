import { create, equals } from '@bufbuild/protobuf';
import { type AgentConfig, AgentConfigSchema } from '../../../gen/spindle/v1/agent_pb.ts';
import { type ChatMessage, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import type { JsonValue } from '../json.ts';
import { isRawJson } from '../raw-json.ts';
import type { Tool } from '../tool.ts';
import { flatten, type Toolchain } from '../toolchain.ts';
import { toolMessages } from './config.ts';
import type { Decision } from './decision.ts';
import type { DecisionContext } from './decision-context.ts';

/** What a function that gives an agent its tools gets to see. */
export interface ToolSourceContext {
  /** The configuration in force; its `tools` are those of the last time. */
  readonly config: AgentConfig;
  /** The session's state; undefined until it is written. */
  readonly state: JsonValue | undefined;
  /** The conversation, as the model will read it. */
  readonly messages: readonly ChatMessage[];
  /** The model calls since the last message of a user, this one included: 1 for the first. */
  readonly iteration: number;
}

/**
 * Gives an agent its tools, before each model call, and again where one of them is called: by this process or by
 * another one that is bound to the agent. So it decides by what it is given alone.
 */
export type ToolSource = (
  context: ToolSourceContext,
) => readonly (Tool | Toolchain)[] | Promise<readonly (Tool | Toolchain)[]>;

/** The tools for the session as a decision would leave it. */
export async function sourcedTools(
  source: ToolSource,
  context: Pick<DecisionContext, 'config' | 'state' | 'messages'>,
  decision: Decision = {},
): Promise<readonly Tool[]> {
  const messages = [...context.messages, ...(decision.messages ?? [])];
  const last = messages.findLastIndex(({ role }) => role === Role.USER);
  const made = messages.slice(last + 1).filter(({ role }) => role === Role.ASSISTANT).length;
  const { state = context.state } = decision;
  const tools = await source({
    config: decision.config ?? context.config,
    state: isRawJson(state) ? JSON.parse(state.json) : state,
    messages,
    iteration: made + 1,
  });
  return flatten(tools, 'the tools of an agent');
}

/**
 * The conversation as the model read it when it made a call: so the tools are those that it chose from. All of it
 * for a call that no message holds.
 */
export function messagesBefore(messages: readonly ChatMessage[], callId: string): readonly ChatMessage[] {
  const index = messages.findIndex(({ parts }) =>
    parts.some(({ kind }) => kind.case === 'toolCall' && kind.value.callId === callId),
  );
  return index < 0 ? messages : messages.slice(0, index);
}

/** The decision with these tools in the configuration; the same decision where that has them already. */
export function withTools(decision: Decision, inForce: AgentConfig, tools: readonly Tool[]): Decision {
  const config = decision.config ?? inForce;
  const definitions = toolMessages(tools);
  const isSame =
    config.tools.length === definitions.length &&
    config.tools.every((tool, index) => {
      const definition = definitions[index];
      return definition !== undefined && equals(ToolSchema, tool, definition);
    });
  if (isSame) return decision;
  return { ...decision, config: create(AgentConfigSchema, { ...config, tools: definitions }) };
}
