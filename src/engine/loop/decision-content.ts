import { create, toBinary } from '@bufbuild/protobuf';
import { type Decision, DecisionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import { type ChatMessage, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { ToolHandler, ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { MAX_DECISION_BYTES, MAX_SESSION_MESSAGES } from '../../core/limits.ts';
import { agentFault, jsonFault } from '../../core/loop/agent-config.ts';
import { SUBMIT_RESULT } from '../../core/loop/reserved.ts';
import { nestedSchema } from '../../schema/nested.ts';
import type { Schemas } from '../../schema/schemas.ts';
import { resultFault } from '../results.ts';
import { sizeFault } from './turn-input.ts';

/** What is wrong with the schemas, results and sizes that a decision brings; undefined where nothing is. */
export function decisionContentFault(schemas: Schemas, decision: Decision): string | undefined {
  const { agent, actions, messages } = decision;
  if (toBinary(DecisionSchema, decision).byteLength > MAX_DECISION_BYTES)
    return `it is larger than ${MAX_DECISION_BYTES} bytes; send large data as a blob or a resource link`;
  const large = largeMessage(messages);
  if (large !== undefined) return `messages${large}`;
  const config = agent && configFault(schemas, agent);
  if (config !== undefined) return config;
  for (const [index, { kind }] of actions.entries()) {
    if (kind.case === 'toolResult' && kind.value.form.case === 'result') {
      const fault = resultFault(kind.value.form.value);
      if (fault !== undefined) return `actions[${index}]: ${fault}`;
    }
    if (kind.case === 'modelCall') {
      const fault = largeMessage(kind.value.messages) ?? emptyMessage(kind.value.messages);
      if (fault !== undefined) return `actions[${index}].model_call.messages${fault}`;
    }
    if (kind.case === 'subagentSpawn' && kind.value.message !== undefined) {
      const fault = largeMessage([kind.value.message]);
      if (fault !== undefined) return `actions[${index}].subagent_spawn.message${fault}`;
    }
    if (kind.case === 'subagentSpawn' && kind.value.agent !== undefined) {
      const fault = configFault(schemas, kind.value.agent);
      if (fault !== undefined) return `actions[${index}]: ${fault}`;
    }
  }
  for (const [index, { parts }] of messages.entries()) {
    for (const { kind } of parts) {
      if (kind.case !== 'toolResult' || kind.value.outcome.case !== 'result') continue;
      const fault = resultFault(kind.value.outcome.value);
      if (fault !== undefined) return `messages[${index}]: ${fault}`;
    }
  }
  return undefined;
}

function largeMessage(messages: readonly ChatMessage[]): string | undefined {
  for (const [index, message] of messages.entries()) {
    const fault = sizeFault(message);
    if (fault !== undefined) return `[${index}]${fault}`;
  }
  return undefined;
}

/** Messages that are sent in place of the conversation are no record, and need no more than a role. */
function emptyMessage(messages: readonly ChatMessage[]): string | undefined {
  if (messages.length > MAX_SESSION_MESSAGES) return `: at most ${MAX_SESSION_MESSAGES} are possible`;
  const index = messages.findIndex(({ role }) => role === Role.UNSPECIFIED);
  return index < 0 ? undefined : `[${index}].role is not set`;
}

/** What is wrong with a configuration, its tools' schemas included. */
export function configFault(schemas: Schemas, agent: AgentConfig): string | undefined {
  const fault = agentFault(agent);
  if (fault !== undefined) return fault;
  for (const tool of agent.tools) {
    const defined = schemas.define(tool);
    if (defined.kind === 'refused') return `agent.tools: ${defined.reason}`;
  }
  return agent.task && taskFault(schemas, agent.task);
}

/** What is wrong with the schema of a task; undefined where nothing is. */
export function taskFault(schemas: Schemas, task: { readonly resultSchemaJson: string }): string | undefined {
  const fault = jsonFault('task.result_schema_json', task.resultSchemaJson, 'schema');
  if (fault !== undefined) return fault;
  const inputSchemaJson = nestedSchema('result', task.resultSchemaJson);
  const defined = schemas.define(
    create(ToolSchema, { name: SUBMIT_RESULT, inputSchemaJson, handler: ToolHandler.ENGINE }),
  );
  return defined.kind === 'refused' ? `task.result_schema_json: ${defined.reason}` : undefined;
}
