import type { AgentConfig } from '../../gen/spindle/v1/agent_pb.ts';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import { ToolHandler } from '../../gen/spindle/v1/tool_pb.ts';
import { namesAgent, namesTool, narrows } from './rights.ts';

/**
 * Why a caller may not bring a configuration of its own: its model would call what the caller may not (9.2).
 * Undefined where it may. Whether one glob is within another is not asked: a narrowed credential names tools one by one.
 */
export function agentBeyond(caller: Caller, config: AgentConfig): string | undefined {
  const subagent = config.subagents.find(({ agentId }) => !namesAgent(caller, agentId));
  if (subagent !== undefined) return `your credential does not name the agent ${subagent.agentId}`;
  if (!narrows(caller)) return undefined;
  const declared = config.tools.find(
    ({ name, handler }) => handler !== ToolHandler.CLIENT && !namesTool(caller, name),
  );
  if (declared !== undefined) return `your credential does not name the tool ${declared.name} of agent.tools`;
  const tool = config.useTools.find((glob) => /[*?]/.test(glob) || !namesTool(caller, glob));
  if (tool !== undefined)
    return `your credential is for some tools alone, so agent.use_tools may name those, without globs: not ${tool}`;
  const [connector] = config.connectors;
  if (connector === undefined) return undefined;
  return `your credential is for some tools alone, so agent.connectors may not name ${connector.connectorId}`;
}
