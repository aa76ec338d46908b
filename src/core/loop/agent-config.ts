import { equals, toBinary } from '@bufbuild/protobuf';
import { type AgentConfig, AgentConfigSchema } from '../../../gen/spindle/v1/agent_pb.ts';
import {
  MAX_AGENT_CONFIG_BYTES,
  MAX_CONNECTOR_USES,
  MAX_GLOBS,
  MAX_ID_CHARS,
  MAX_JSON_FIELD_BYTES,
  MAX_MAX_ITERATIONS,
  MAX_SUBAGENTS,
  MAX_TOOLS_PER_AGENT,
} from '../limits.ts';
import { policyFault } from '../policy.ts';
import { isTriggerName, TRIGGERS } from '../trigger-name.ts';
import { RESERVED_NAMES } from './reserved.ts';

export function sameConfig(a: AgentConfig, b: AgentConfig | undefined): boolean {
  return a === b || (b !== undefined && equals(AgentConfigSchema, a, b));
}

/**
 * What is wrong with a configuration, naming the field; undefined where nothing is. The schemas of its tools are
 * for the engine to check.
 */
export function agentFault(agent: AgentConfig): string | undefined {
  if (!/^[^\s/]+\/\S+$/.test(agent.model)) {
    return 'agent.model has to be provider/model, as in anthropic/claude-haiku-4-5';
  }
  if (toBinary(AgentConfigSchema, agent).byteLength > MAX_AGENT_CONFIG_BYTES) {
    return `agent is larger than ${MAX_AGENT_CONFIG_BYTES} bytes; take tools from the catalog with use_tools`;
  }
  return (
    bound('tools', agent.tools.length, MAX_TOOLS_PER_AGENT) ??
    bound('use_tools', agent.useTools.length, MAX_GLOBS) ??
    bound('subagents', agent.subagents.length, MAX_SUBAGENTS) ??
    bound('connectors', agent.connectors.length, MAX_CONNECTOR_USES) ??
    bound('approval.names', agent.approval?.names.length ?? 0, MAX_GLOBS) ??
    bound('max_iterations', agent.maxIterations, MAX_MAX_ITERATIONS) ??
    reservedFault(agent) ??
    jsonFault('agent.model_settings_json', agent.modelSettingsJson, 'object') ??
    jsonFault('agent.task.result_schema_json', agent.task?.resultSchemaJson ?? '', 'schema') ??
    triggerFault(agent) ??
    retryFault(agent)
  );
}

function bound(field: string, count: number, max: number): string | undefined {
  return count > max ? `agent.${field} is ${count}; at most ${max} is possible` : undefined;
}

function reservedFault({ tools, subagents }: AgentConfig): string | undefined {
  const names = [...tools.map(({ name }) => name), ...subagents.map(({ agentId }) => agentId)];
  const taken = names.find((name) => RESERVED_NAMES.has(name));
  if (taken !== undefined) return `${taken} is a name of the engine's own tools; use another`;
  const subagent = subagents.find(({ agentId }) => agentId === '' || agentId.length > MAX_ID_CHARS);
  return subagent && `agent.subagents: agent_id has to have 1 to ${MAX_ID_CHARS} characters`;
}

function triggerFault({ requiredTriggers }: AgentConfig): string | undefined {
  const unknown = requiredTriggers.find((name) => !isTriggerName(name));
  return unknown === undefined
    ? undefined
    : `agent.required_triggers: ${JSON.stringify(unknown.slice(0, MAX_ID_CHARS))} is no trigger; there are ${TRIGGERS.join(', ')}`;
}

function retryFault({ retry, tools }: AgentConfig): string | undefined {
  for (const layer of ['base', 'tool', 'model', 'subagent', 'connector'] as const) {
    const fault = retry?.[layer] && policyFault(retry[layer]);
    if (fault !== undefined) return `agent.retry.${layer}: ${fault}`;
  }
  for (const tool of tools) {
    const fault = tool.retry && policyFault(tool.retry);
    if (fault !== undefined) return `agent.tools: ${tool.name}: ${fault}`;
  }
  return undefined;
}

/** Whether a text has more bytes of UTF-8 than it may: a code unit takes one to three, so most need not be encoded. */
function isLonger(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true;
  return text.length * 3 > maxBytes && new TextEncoder().encode(text).byteLength > maxBytes;
}

/** What is wrong with a field that holds JSON text, or is empty. */
export function jsonFault(
  field: string,
  text: string,
  kind: 'any' | 'object' | 'schema',
): string | undefined {
  if (text === '') return undefined;
  if (isLonger(text, MAX_JSON_FIELD_BYTES)) return `${field} is longer than ${MAX_JSON_FIELD_BYTES} bytes`;
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (kind === 'any' || isObject || (kind === 'schema' && typeof value === 'boolean')) return undefined;
    return `${field} has to hold a JSON object`;
  } catch {
    return `${field} is no JSON text`;
  }
}
