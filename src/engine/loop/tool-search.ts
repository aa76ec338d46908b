import { create } from '@bufbuild/protobuf';
import { type AgentConfig, DeferStrategy } from '../../../gen/spindle/v1/agent_pb.ts';
import { ContentSchema, type ToolResult, ToolResultSchema } from '../../../gen/spindle/v1/result_pb.ts';
import { DEFAULT_DEFERRED_MATCHES } from '../../core/limits.ts';
import { TOOL_SEARCH } from '../../core/loop/reserved.ts';
import type { Session } from '../../core/session.ts';
import { searchTools } from '../search.ts';
import type { ToolBox } from './assembly.ts';

/** What a search for deferred tools answers (6.8): over every tool of the agent, those in the request included. */
export function toolSearch(agent: AgentConfig | undefined, { tools }: ToolBox, query: string): ToolResult {
  const max = agent?.deferTools?.maxMatches || DEFAULT_DEFERRED_MATCHES;
  const found = searchTools(
    tools.map(({ definition }) => definition.tool),
    query,
    max,
  );
  const structuredJson = JSON.stringify({
    tools: found.tools.map(({ name, description, inputSchemaJson }) => ({
      name,
      description,
      input_schema: inputSchemaJson === '' ? {} : (JSON.parse(inputSchemaJson) as unknown),
    })),
    more: found.leftOut,
  });
  return create(ToolResultSchema, {
    structuredJson,
    content: [create(ContentSchema, { kind: { case: 'text', value: { text: structuredJson } } })],
    activity: `Found ${found.tools.length} ${found.tools.length === 1 ? 'tool' : 'tools'}`,
  });
}

/** The tools that searches of a session have found, where those join the next requests (DEFER_STRATEGY_LOAD). */
export function foundNames({ calls }: Session, agent: AgentConfig | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  if (agent?.deferTools?.strategy !== DeferStrategy.LOAD) return found;
  for (const { name, phase } of calls.values()) {
    if (name !== TOOL_SEARCH || phase.kind !== 'finished' || phase.end.outcome.case !== 'result') continue;
    const { tools } = JSON.parse(phase.end.outcome.value.structuredJson ?? '{}') as {
      tools?: { name: string }[];
    };
    for (const tool of tools ?? []) found.add(tool.name);
  }
  return found;
}
