/** Agents of the deployment: `[agents.NAME]` of the configuration file, for sessions that no worker configures. */
import { z } from 'zod';
import { DeferStrategy, IterationLimit } from '../../gen/spindle/v1/agent_pb.ts';
import { MAX_MAX_ITERATIONS } from '../core/limits.ts';

const EXPECTED = {
  text: 'a text',
  model: 'provider/model, as in anthropic/claude-haiku-4-5 or local/demo',
  globs: 'a list of globs over tool names, as in ["read_*"]',
  iterations: `an integer from 1 to ${MAX_MAX_ITERATIONS}`,
  tokens: 'a positive integer',
  limit: '"final_answer" or "fail"',
  strategy: '"call" or "load"',
  flag: 'true or false',
  table: 'a table',
};

const globs = z.array(z.string(EXPECTED.globs), EXPECTED.globs);
const table = { error: () => EXPECTED.table };

const AgentSchema = z
  .strictObject(
    {
      model: z.string(EXPECTED.model).regex(/^[^\s/]+\/\S+$/, EXPECTED.model),
      system: z.string(EXPECTED.text).optional(),
      use_tools: globs.optional(),
      subagents: z.record(z.string(), z.string(EXPECTED.text), table).optional(),
      connectors: z.array(z.string(EXPECTED.text), EXPECTED.text).optional(),
      max_iterations: z
        .int(EXPECTED.iterations)
        .min(1, EXPECTED.iterations)
        .max(MAX_MAX_ITERATIONS, EXPECTED.iterations)
        .optional(),
      on_iteration_limit: z.enum(['final_answer', 'fail'], EXPECTED.limit).optional(),
      max_tokens_per_turn: z.int(EXPECTED.tokens).positive(EXPECTED.tokens).optional(),
      defer_tools: z
        .strictObject(
          {
            max_matches: z.int(EXPECTED.tokens).positive(EXPECTED.tokens).optional(),
            strategy: z.enum(['call', 'load'], EXPECTED.strategy).optional(),
          },
          table,
        )
        .optional(),
      approval: z
        .strictObject({ names: globs.optional(), destructive: z.boolean(EXPECTED.flag).optional() }, table)
        .optional(),
    },
    table,
  )
  // In the words of the contract (AgentConfig).
  .transform(
    ({ system, use_tools, subagents, connectors, defer_tools, approval, on_iteration_limit, ...agent }) => ({
      model: agent.model,
      system: system ?? '',
      useTools: use_tools ?? [],
      subagents: Object.entries(subagents ?? {}).map(([agentId, description]) => ({ agentId, description })),
      connectors: (connectors ?? []).map((connectorId) => ({ connectorId })),
      maxIterations: agent.max_iterations ?? 0,
      maxTokensPerTurn: agent.max_tokens_per_turn ?? 0,
      onIterationLimit: on_iteration_limit === 'fail' ? IterationLimit.FAIL : IterationLimit.FINAL_ANSWER,
      ...(defer_tools && {
        deferTools: {
          maxMatches: defer_tools.max_matches ?? 0,
          strategy: defer_tools.strategy === 'load' ? DeferStrategy.LOAD : DeferStrategy.CALL,
        },
      }),
      ...(approval && {
        approval: { names: approval.names ?? [], destructive: approval.destructive ?? false },
      }),
    }),
  );

export const agentsSchema = z.record(z.string(), AgentSchema, table);
