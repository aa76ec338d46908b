import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import { failure } from '../../core/failure.ts';
import { MAX_SUBAGENT_DEPTH } from '../../core/limits.ts';
import type { Turn } from '../../core/loop/conversation.ts';
import { mayUse } from '../../core/loop/turn-rights.ts';

export interface SubagentPlace {
  /** Parent sessions. */
  readonly depth: number;
  readonly turn: Turn;
}

/** The end of a call that may not start an agent; undefined where it may. */
export function subagentFault(agentId: string, { depth, turn }: SubagentPlace) {
  if (depth >= MAX_SUBAGENT_DEPTH) return TOO_DEEP;
  return mayUse(turn, { name: agentId, handler: ToolHandler.SUBAGENT }, false) ? undefined : NOT_NAMED;
}

const TOO_DEEP = {
  error: failure(
    'refused',
    `Agents may start agents ${MAX_SUBAGENT_DEPTH} levels deep, and no deeper. Do it without another agent.`,
  ),
};

const NOT_NAMED = {
  error: failure('refused', 'The credential that started the turn does not name this agent.'),
};
