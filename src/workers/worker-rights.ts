import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Hello, SetTools } from '../../gen/spindle/v1/worker_service_pb.ts';
import { namesAgent, namesTool } from '../core/rights.ts';
import type { Lifetime } from '../engine/ports.ts';

/** Who opened a worker's stream, and for how long it may have it. */
export interface StreamOwner {
  readonly caller: Caller;
  /** How long its credential is good for. Absent where that does not end. */
  readonly lifetime?: Lifetime | undefined;
}

/** Tools and agents that a worker's credential does not name, taken out of what it offers (9.2). */
export interface Withheld {
  readonly tools: readonly { readonly name: string; readonly reason: string }[];
  readonly agents: readonly string[];
}

const REASON = 'the credential of this worker does not name the tool';

/** Takes out of a hello what its worker may not serve; the others serve. */
export function withhold(caller: Caller, frame: Hello | SetTools): Withheld {
  const refused = frame.tools.filter(({ tool }) => tool !== undefined && !namesTool(caller, tool.name));
  if (refused.length > 0) frame.tools = frame.tools.filter((offer) => !refused.includes(offer));
  const tools = refused.map(({ tool }) => ({ name: tool?.name ?? '', reason: REASON }));
  if (frame.$typeName === 'spindle.v1.SetTools') return { tools, agents: [] };
  const agents = frame.agents.map(({ agentId }) => agentId).filter((id) => !namesAgent(caller, id));
  if (agents.length > 0) frame.agents = frame.agents.filter(({ agentId }) => namesAgent(caller, agentId));
  return { tools, agents };
}
