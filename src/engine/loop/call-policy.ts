import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import type { RetryPolicies, RetryPolicy } from '../../../gen/spindle/v1/retry_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { CONNECTOR_TOOL_POLICY, mergePolicies, type Policy, WORKER_TOOL_POLICY } from '../../core/policy.ts';

/** Bounds of calls that the session's owner runs (4.1): none. */
const CLIENT_POLICY: Policy = { maxAttempts: 1, initialBackoff: 0, maxBackoff: 0, backoffMultiplier: 1 };
/** Starts of subagents (4.1). */
const SUBAGENT_POLICY: Policy = {
  ...WORKER_TOOL_POLICY,
  runTimeout: undefined,
  totalTimeout: 3_600_000,
  maxAttempts: 3,
};

/** The layers of a call's policy beside the engine's own, the widest first (4.1). */
export interface PolicyLayers {
  readonly deployment: RetryPolicies | undefined;
  readonly agent: AgentConfig | undefined;
  readonly tool: RetryPolicy | undefined;
  readonly call: RetryPolicy | undefined;
}

/** What holds for a call of a turn, by who runs it. */
export function callPolicy(handler: ToolHandler, { deployment, agent, tool, call }: PolicyLayers): Policy {
  if (handler === ToolHandler.CLIENT) return CLIENT_POLICY;
  const kind = handler === ToolHandler.SUBAGENT ? 'subagent' : 'tool';
  const retry = agent?.retry;
  return mergePolicies(
    widest(handler),
    deployment?.base,
    deployment?.[kind],
    retry?.base,
    retry?.[kind],
    tool,
    call,
  );
}

function widest(handler: ToolHandler): Policy {
  if (handler === ToolHandler.CONNECTOR) return CONNECTOR_TOOL_POLICY;
  return handler === ToolHandler.SUBAGENT ? SUBAGENT_POLICY : WORKER_TOOL_POLICY;
}
