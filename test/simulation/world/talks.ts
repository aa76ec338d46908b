import { create } from '@bufbuild/protobuf';
import { type AgentConfig, AgentConfigSchema, IterationLimit } from '../../../gen/spindle/v1/agent_pb.ts';
import { ToolHandler } from '../../../gen/spindle/v1/tool_pb.ts';
import type { Millis } from '../../../src/core/time.ts';
import type { Dice } from './dice.ts';

/** A conversation that somebody wants to have, and how they go about it. */
export interface Talk {
  readonly sessionId: string;
  readonly at: Millis;
  readonly agent: AgentConfig;
  readonly turns: readonly TurnIntent[];
  /** Drops its watch after about this long, and comes back. */
  readonly patience: Millis | undefined;
}

export interface TurnIntent {
  readonly turnId: string;
  readonly text: string;
  readonly at: Millis;
  /** Waits behind the running turn, instead of trying again later (6.14). */
  readonly queue: boolean;
  /** Sends the same turn twice at once. */
  readonly twin: boolean;
  readonly cancelAt: Millis | undefined;
}

export interface TalksOptions {
  readonly sessions: number;
  /** New turns come until then. */
  readonly until: Millis;
}

/** The agent of every talk, and the one that it may start. */
export const BOSS = 'boss';
export const KID = 'kid';

/** The tools of workers that agents use, and the one that their clients run. */
export const AGENT_TOOLS = ['safe', 'unsafe', 'typed', 'narrow', 'alone'] as const;
export const CLIENT_TOOL = 'ask_client';
/** A tool that nobody has: models call it all the same. */
export const NO_TOOL = 'ghost';

const PARAMETERS = JSON.stringify({
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
});

/** Agents of the deployment, which workers may bind as well. */
export const KID_CONFIG = create(AgentConfigSchema, {
  model: 'sim/kid',
  system: 'You help.',
  useTools: ['safe', 'alone'],
  maxIterations: 3,
});

export function planTalks(dice: Dice, { sessions, until }: TalksOptions): Talk[] {
  return Array.from({ length: sessions }, (_, index): Talk => {
    const sessionId = `s${index}`;
    const at = dice.between(0, until / 2);
    return {
      sessionId,
      at,
      agent: agentOf(dice),
      turns: Array.from({ length: dice.int(1, 4) }, (__, turn): TurnIntent => {
        const startsAt = dice.between(at, until);
        return {
          turnId: `${sessionId}-t${turn}`,
          text: `question ${turn} of ${sessionId}`,
          at: startsAt,
          queue: dice.chance(0.6),
          twin: dice.chance(0.3),
          cancelAt: dice.chance(0.2) ? startsAt + dice.latency(6_000, 30_000) : undefined,
        };
      }),
      patience: dice.chance(0.4) ? dice.between(50, 8_000) : undefined,
    };
  });
}

function agentOf(dice: Dice): AgentConfig {
  return create(AgentConfigSchema, {
    model: 'sim/boss',
    system: 'You answer.',
    useTools: [...AGENT_TOOLS],
    tools: [
      {
        name: CLIENT_TOOL,
        description: 'Asks the client.',
        inputSchemaJson: PARAMETERS,
        handler: ToolHandler.CLIENT,
      },
    ],
    subagents: [{ agentId: KID, description: 'Helps.' }],
    maxIterations: dice.int(2, 6),
    onIterationLimit: dice.chance(0.2) ? IterationLimit.FAIL : IterationLimit.FINAL_ANSWER,
    requiredTriggers: dice.chance(0.2) ? ['tool.finished'] : [],
    ...(dice.chance(0.4) ? { approval: { names: ['typed'] } } : {}),
  });
}
