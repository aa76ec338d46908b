import { type Tool, ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { namesAgent, namesTool } from '../rights.ts';
import type { Turn } from './conversation.ts';

/**
 * Whether a turn may use a tool of its agent: what whoever started it may call (9.2). The model is not offered
 * anything else, and no decision calls it. What the client runs itself is its own affair.
 *
 * @param privileged the deployment lets the agent call its tools for callers that may not call them themselves; which
 *   agents a caller talks to, subagents too, is up to its credential all the same
 */
export function mayUse(
  turn: Turn | undefined,
  { name, handler }: Pick<Tool, 'name' | 'handler'>,
  privileged: boolean,
): boolean {
  const caller = turn?.origin.caller;
  if (handler === ToolHandler.CLIENT || handler === ToolHandler.ENGINE) return true;
  if (caller === undefined) return false;
  return handler === ToolHandler.SUBAGENT ? namesAgent(caller, name) : privileged || namesTool(caller, name);
}
