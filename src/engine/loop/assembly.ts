import type { AgentConfig, ConnectorUse } from '../../../gen/spindle/v1/agent_pb.ts';
import { type Tool, ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { matchesGlob } from '../../core/globs.ts';
import type { Turn } from '../../core/loop/conversation.ts';
import { RESERVED_NAMES } from '../../core/loop/reserved.ts';
import { mayUse } from '../../core/loop/turn-rights.ts';
import type { Definition } from '../../schema/definition.ts';
import type { Connectors, ConnectorTool, Workers } from '../ports.ts';
import { ownTools, subagentTool } from './own-tools.ts';

/** A tool of an agent. */
export interface AgentTool {
  readonly definition: Definition;
  /** It is out of the model's request until a search finds it (6.8). */
  readonly deferred: boolean;
}

/** The tools of an agent for one iteration, in the order of rule 6.3. */
export interface ToolBox {
  /** All of the agent's, deferred ones included, without the engine's own. */
  readonly tools: readonly AgentTool[];
  /** The engine's own that the configuration asks for, behind the others. */
  readonly own: readonly Definition[];
  /** What the configuration names and is not there, and why, one sentence each. */
  readonly leftOut: readonly string[];
  /** Sources of tools that could not be reached; the turn goes on without them (6.15). */
  readonly unavailable: readonly string[];
  /** Globs over the catalog that match nothing; shortly after a start their workers may still come back. */
  readonly unmatched: readonly string[];
}

export interface AssemblyOptions {
  readonly workers: Workers;
  readonly connectors: Connectors | undefined;
  /** Accepts a tool that a configuration declares, or says why not. */
  readonly define: (tool: Tool) => Definition | string;
}

export interface AssemblyPlace {
  readonly tenant: string;
  readonly sessionId: string;
  readonly agent: AgentConfig;
  readonly turn: Turn | undefined;
  /** The agent may call its tools for callers that may not call them themselves. */
  readonly privileged: boolean;
}

/** Assembles the tools of an agent anew (6.3). A name that two sources claim stays with the first. */
export async function assemble(options: AssemblyOptions, place: AssemblyPlace): Promise<ToolBox> {
  const { agent, turn, tenant, privileged } = place;
  const box = createBox(agent, (tool) => mayUse(turn, tool, privileged));
  for (const tool of agent.tools) box.declare(options.define(tool), tool.name, 'the configuration');
  const unmatched: string[] = [];
  const catalog = agent.useTools.length === 0 ? [] : options.workers.offered(tenant);
  for (const glob of agent.useTools) {
    const matching = catalog
      .filter(({ tool }) => matchesGlob(glob, tool.name))
      .sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
    if (matching.length === 0) unmatched.push(glob);
    for (const definition of matching) box.add(definition, `the catalog (${glob})`, true);
  }
  for (const subagent of agent.subagents) {
    box.declare(options.define(subagentTool(subagent)), subagent.agentId, 'the subagents');
  }
  for (const tool of clientTools(turn))
    box.declare(options.define(tool), tool.name, "the turn's client tools");
  for (const use of agent.connectors) await addConnector(options, place, use, box);
  const { own, faults } = ownTools(agent, turn?.task, box.tools, options.define);
  return {
    tools: box.tools,
    own,
    leftOut: [
      ...box.leftOut,
      ...unmatched.map((glob) => `No tool of the catalog matches ${glob}.`),
      ...faults,
      ...beyondRights(box.beyond.size),
    ],
    unavailable: box.unavailable,
    unmatched,
  };
}

/** How many, and not which: whoever may not call them may not see their names. */
function beyondRights(count: number): readonly string[] {
  if (count === 0) return [];
  const tools = count === 1 ? '1 tool is' : `${count} tools are`;
  return [`${tools} left out: the credential that started the turn does not name what the agent has.`];
}

function clientTools(turn: Turn | undefined): Tool[] {
  const input = turn?.input?.kind;
  if (input?.case !== 'messages') return [];
  return input.value.clientTools.map((tool) => ({ ...tool, handler: ToolHandler.CLIENT }));
}

async function addConnector(
  { connectors }: AssemblyOptions,
  { tenant, sessionId }: AssemblyPlace,
  use: ConnectorUse,
  box: Box,
): Promise<void> {
  const { connectorId } = use;
  const listed = await connectors?.tools(tenant, connectorId, sessionId);
  if (listed === undefined) {
    box.leftOut.push(`There is no connector ${connectorId}.`);
    return;
  }
  if (listed.kind === 'failed') {
    box.unavailable.push(`The tools of ${connectorId} are not available at the moment.`);
    // The reason may be in the server's words, which must not get among a model's instructions.
    box.leftOut.push(`The tools of ${connectorId} are not available: ${listed.reason}`);
    return;
  }
  for (const tool of listed.tools) {
    if (admits(use, tool)) box.add(tool.definition, `connector ${connectorId}`, false, use.deferLoading);
  }
}

/** The filters of a use only ever take tools away (6.15). */
function admits(use: ConnectorUse, { serverName, definition }: ConnectorTool): boolean {
  const { annotations } = definition.tool;
  if (use.include.length > 0 && !use.include.some((glob) => matchesGlob(glob, serverName))) return false;
  if (use.exclude.some((glob) => matchesGlob(glob, serverName))) return false;
  if (use.readOnly && annotations?.readOnly !== true) return false;
  if (use.nonDestructive && annotations?.destructive !== false && annotations?.readOnly !== true)
    return false;
  return !(use.idempotent && annotations?.idempotent !== true && annotations?.readOnly !== true);
}

interface Box {
  readonly tools: AgentTool[];
  readonly leftOut: string[];
  readonly unavailable: string[];
  /** Names of tools that the turn's caller may not call. */
  readonly beyond: Set<string>;
  /** A tool of the configuration, or why it cannot be used. */
  declare(defined: Definition | string, name: string, source: string): void;
  /** @param again the same tool may come a second time without being a collision: two globs match it */
  add(definition: Definition, source: string, again: boolean, deferLoading?: boolean): void;
}

function createBox(agent: AgentConfig, mayHave: (tool: Tool) => boolean): Box {
  const sources = new Map<string, { source: string; digest: string }>();
  const box: Box = {
    tools: [],
    leftOut: [],
    unavailable: [],
    beyond: new Set(),
    declare(defined, name, source) {
      if (typeof defined === 'string') box.leftOut.push(`${name} of ${source} cannot be used: ${defined}`);
      else box.add(defined, source, false);
    },
    add(definition, source, again, deferLoading) {
      const { name, deferLoading: own } = definition.tool;
      const first = sources.get(name);
      if (!mayHave(definition.tool)) {
        box.beyond.add(name);
      } else if (RESERVED_NAMES.has(name)) {
        box.leftOut.push(`${name} of ${source} is left out: the name is reserved for the engine's own tool.`);
      } else if (first !== undefined) {
        if (again && first.digest === definition.digest) return;
        box.leftOut.push(`${name} of ${source} is left out: ${first.source} has a tool of that name.`);
      } else {
        sources.set(name, { source, digest: definition.digest });
        const deferred = own ?? deferLoading ?? agent.deferTools !== undefined;
        box.tools.push({ definition, deferred });
      }
    },
  };
  return box;
}
