import { create, toBinary } from '@bufbuild/protobuf';
import {
  type AgentBinding,
  AgentBindingSchema,
  HelloSchema,
  SetToolsSchema,
  type ToolOffer,
  ToolOfferSchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import {
  MAX_AGENTS_PER_WORKER,
  MAX_MESSAGE_BYTES,
  MAX_TOOLS_PER_WORKER,
  MIN_MESSAGE_BYTES,
} from '../../core/limits.ts';
import type { Agent } from '../agent/agent.ts';
import type { Tool } from '../tool.ts';
import { flatten, type Toolchain } from '../toolchain.ts';

export function offerOf(tool: Tool): ToolOffer {
  return create(ToolOfferSchema, { tool: tool.definition, maxConcurrency: tool.maxConcurrency });
}

export function bindingOf({ id, config, binding }: Agent): AgentBinding {
  const { triggers, context } = binding;
  return create(AgentBindingSchema, { agentId: id, triggers: [...triggers], context, config });
}

/**
 * The agents that a worker binds, in order. Throws an Error where two have one id, a tool of one has the name of
 * another one that the worker offers, or all together would not fit the hello that has to carry them.
 */
export function bound(agents: readonly Agent[], tools: readonly Tool[]): readonly Agent[] {
  const ids = new Set<string>();
  const offers = new Map(tools.map((tool) => [tool.name, tool]));
  for (const { id, tools: own } of agents) {
    if (ids.has(id)) throw new Error(`two agents are named ${id}: an id is unique`);
    ids.add(id);
    // The call of an agent is routed to offered tools first (4.11), so the agent's own would never run.
    const hidden = own.find((tool) => {
      const offer = offers.get(tool.name);
      return offer !== undefined && offer.handle !== tool.handle;
    });
    if (hidden !== undefined) {
      throw new Error(
        `the worker offers a tool ${hidden.name}, and the agent ${id} declares another one of that name, which would never run: rename one of them`,
      );
    }
  }
  if (agents.length > MAX_AGENTS_PER_WORKER) {
    throw new Error(`a worker binds at most ${MAX_AGENTS_PER_WORKER} agents, and these are ${agents.length}`);
  }
  const hello = create(HelloSchema, { agents: agents.map(bindingOf), tools: tools.map(offerOf) });
  const bytes = toBinary(HelloSchema, hello).length;
  if (bytes > MAX_MESSAGE_BYTES - MIN_MESSAGE_BYTES) {
    throw new Error(
      `agents and tools have ${bytes} bytes, and one message has to carry them: at most ${MAX_MESSAGE_BYTES - MIN_MESSAGE_BYTES}; split the worker`,
    );
  }
  return agents;
}

/**
 * The tools that a worker offers, in order. Throws an Error where two have one name, one has no handler, or
 * all together would not fit the hello that has to carry them.
 */
export function offered(entries: readonly (Tool | Toolchain)[]): readonly Tool[] {
  const tools = flatten(entries, 'the tools of a worker');
  for (const { name, handle } of tools) {
    if (handle === undefined) throw new Error(`tool ${name} is run by a client: a worker cannot offer it`);
  }
  if (tools.length > MAX_TOOLS_PER_WORKER) {
    throw new Error(`a worker offers at most ${MAX_TOOLS_PER_WORKER} tools, and these are ${tools.length}`);
  }
  const bytes = toBinary(SetToolsSchema, create(SetToolsSchema, { tools: tools.map(offerOf) })).length;
  // What is left is for the other fields of the hello.
  if (bytes > MAX_MESSAGE_BYTES - MIN_MESSAGE_BYTES) {
    throw new Error(
      `the definitions of ${tools.length} tools have ${bytes} bytes, and one message has to carry them: at most ${MAX_MESSAGE_BYTES - MIN_MESSAGE_BYTES}`,
    );
  }
  return tools;
}
