import { create, toBinary } from '@bufbuild/protobuf';
import { type AgentConfig, AgentConfigSchema } from '../../gen/spindle/v1/agent_pb.ts';
import { type AgentBinding, ContextLevel } from '../../gen/spindle/v1/worker_service_pb.ts';
import {
  MAX_AGENT_CONFIG_BYTES,
  MAX_AGENTS_PER_WORKER,
  MAX_ID_CHARS,
  MAX_TOOLS_PER_AGENT,
} from '../core/limits.ts';
import { RESERVED_NAMES } from '../core/loop/reserved.ts';
import { isTriggerName, TRIGGERS } from '../core/trigger-name.ts';
import type { Schemas } from '../schema/schemas.ts';

/** What a process has bound of one agent. */
export interface BoundAgent {
  /** In dotted form. */
  readonly triggers: ReadonlySet<string>;
  readonly context: ContextLevel;
  /** Without the tools that were refused; undefined where the deployment's holds. */
  readonly config: AgentConfig | undefined;
}

/** What is wrong with the agents of a hello, so wrong that the stream ends; undefined where nothing is. */
export function agentsFault(agents: readonly AgentBinding[]): string | undefined {
  if (agents.length > MAX_AGENTS_PER_WORKER) {
    return `hello.agents has ${agents.length} entries, and may have ${MAX_AGENTS_PER_WORKER}; split the worker`;
  }
  const ids = new Set<string>();
  for (const [index, { agentId, triggers, config }] of agents.entries()) {
    const where = `hello.agents[${index}]`;
    if (agentId === '' || agentId.length > MAX_ID_CHARS) {
      return `${where}.agent_id must have 1 to ${MAX_ID_CHARS} characters`;
    }
    if (ids.has(agentId)) return `${where} binds ${agentId} again; one binding names all of its triggers`;
    ids.add(agentId);
    const fault =
      triggersFault(`${where}.triggers`, triggers) ??
      (config === undefined ? undefined : configFault(`${where}.config`, config));
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function triggersFault(field: string, triggers: readonly string[]): string | undefined {
  const seen = new Set<string>();
  for (const trigger of triggers) {
    if (!isTriggerName(trigger)) {
      const shown = JSON.stringify(trigger.slice(0, MAX_ID_CHARS));
      return `${field}: ${shown} is no trigger; there are ${TRIGGERS.join(', ')}`;
    }
    if (seen.has(trigger)) return `${field} names ${trigger} twice`;
    seen.add(trigger);
  }
  return undefined;
}

function configFault(field: string, config: AgentConfig): string | undefined {
  const bytes = toBinary(AgentConfigSchema, config).byteLength;
  if (bytes > MAX_AGENT_CONFIG_BYTES) {
    return `${field} has ${bytes} bytes, and may have ${MAX_AGENT_CONFIG_BYTES}; take tools from the catalog with use_tools`;
  }
  if (config.tools.length > MAX_TOOLS_PER_AGENT) {
    return `${field}.tools has ${config.tools.length} entries, and may have ${MAX_TOOLS_PER_AGENT}; take tools from the catalog with use_tools`;
  }
  return triggersFault(`${field}.required_triggers`, config.requiredTriggers);
}

export interface Bindings {
  readonly bound: ReadonlyMap<string, BoundAgent>;
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

/** Reads agents in which `agentsFault` found nothing. A bad definition keeps its tool out, and no other (2.2). */
export function readBindings(agents: readonly AgentBinding[], schemas: Schemas): Bindings {
  const refused: { name: string; reason: string }[] = [];
  const bound = new Map<string, BoundAgent>();
  for (const { agentId, triggers, context, config } of agents) {
    bound.set(agentId, {
      triggers: new Set(triggers),
      context: context === ContextLevel.UNSPECIFIED ? ContextLevel.TRIGGER : context,
      config: config && withoutFaultyTools(agentId, config, schemas, refused),
    });
  }
  return { bound, refused };
}

/** Whatever handler a definition names, nobody but the engine has tools of these names (4.11). */
export function reservedName(name: string): string {
  return `tool ${name}: its name is reserved for a tool of the engine: choose another`;
}

function withoutFaultyTools(
  agentId: string,
  config: AgentConfig,
  schemas: Schemas,
  refused: { name: string; reason: string }[],
): AgentConfig {
  const names = new Set<string>();
  const tools = config.tools.filter((tool) => {
    const defined = schemas.define(tool);
    const refuse = (reason: string): boolean => {
      refused.push({ name: tool.name, reason: `agent ${agentId}: ${reason}` });
      return false;
    };
    if (defined.kind === 'refused') return refuse(defined.reason);
    if (RESERVED_NAMES.has(tool.name)) return refuse(reservedName(tool.name));
    if (names.has(tool.name)) return refuse(`${tool.name} is declared twice; the first serves`);
    names.add(tool.name);
    return true;
  });
  return tools.length === config.tools.length ? config : create(AgentConfigSchema, { ...config, tools });
}
