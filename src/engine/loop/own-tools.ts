import { create } from '@bufbuild/protobuf';
import {
  type AgentConfig,
  DeferStrategy,
  type Subagent,
  type TaskContract,
} from '../../../gen/spindle/v1/agent_pb.ts';
import { type Tool, ToolHandler, ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import { CALL_TOOL, SUBMIT_RESULT, TOOL_SEARCH } from '../../core/loop/reserved.ts';
import type { Definition } from '../../schema/definition.ts';
import { nestedSchema } from '../../schema/nested.ts';
import type { AgentTool } from './assembly.ts';

/** Another agent as a tool with one argument, `message` (6.10). */
export function subagentTool({ agentId, description }: Subagent): Tool {
  return create(ToolSchema, {
    name: agentId,
    description,
    handler: ToolHandler.SUBAGENT,
    inputSchemaJson: JSON.stringify({
      type: 'object',
      properties: {
        message: { type: 'string', description: 'What the agent should do, with all that it has to know.' },
      },
      required: ['message'],
      additionalProperties: false,
    }),
  });
}

const SEARCH: Tool = create(ToolSchema, {
  name: TOOL_SEARCH,
  description:
    'Finds tools by what they do. Answers the name, the description and the schema of the arguments of each tool that fits, and how many more there are. An empty query lists tools.',
  handler: ToolHandler.ENGINE,
  inputSchemaJson: JSON.stringify({
    type: 'object',
    properties: { query: { type: 'string', description: 'A few words about what the tool should do.' } },
    required: ['query'],
    additionalProperties: false,
  }),
});

const CALL: Tool = create(ToolSchema, {
  name: CALL_TOOL,
  description: `Calls a tool that ${TOOL_SEARCH} has found.`,
  handler: ToolHandler.ENGINE,
  inputSchemaJson: JSON.stringify({
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the tool.' },
      arguments: { type: 'object', description: 'Its arguments, by its schema.' },
    },
    required: ['name', 'arguments'],
    additionalProperties: false,
  }),
});

/** The tool by which a task ends: the value that the contract wants, under the name `result` (6.12). */
function submitTool({ resultSchemaJson }: TaskContract): Tool {
  return create(ToolSchema, {
    name: SUBMIT_RESULT,
    description: 'Submits the result of the task, and ends it.',
    handler: ToolHandler.ENGINE,
    strict: true,
    endsTurn: true,
    inputSchemaJson: nestedSchema('result', resultSchemaJson),
  });
}

export interface OwnTools {
  readonly own: readonly Definition[];
  readonly faults: readonly string[];
}

/** Present from the configuration alone, so that a request's prefix does not change with what was found (6.8). */
export function ownTools(
  agent: AgentConfig,
  task: TaskContract | undefined,
  tools: readonly AgentTool[],
  define: (tool: Tool) => Definition | string,
): OwnTools {
  const wanted: Tool[] = [];
  if (agent.deferTools !== undefined || tools.some(({ deferred }) => deferred)) {
    wanted.push(SEARCH);
    if (agent.deferTools?.strategy !== DeferStrategy.LOAD) wanted.push(CALL);
  }
  if (task !== undefined) wanted.push(submitTool(task));
  const own: Definition[] = [];
  const faults: string[] = [];
  for (const tool of wanted) {
    const defined = define(tool);
    if (typeof defined === 'string') faults.push(`${tool.name} cannot be used: ${defined}`);
    else own.push(defined);
  }
  return { own, faults };
}
