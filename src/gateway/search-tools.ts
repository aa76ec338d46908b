import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { DEFAULT_MATCHES, MAX_GATEWAY_TOOLS, MAX_PAGE_SIZE } from '../core/limits.ts';
import { offeredTool } from './offered-tool.ts';

/** Their definitions never change, whatever the catalog holds (6.8). The names are reserved (4.11). */
export const SEARCH_TOOL: McpTool = {
  name: 'tool_search',
  description:
    'Finds tools by what they do. Answers the name, description and input schema of the best matches, and how many more ' +
    'match. Call what you find with call_tool.',
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        description: 'Words that say what the tool should do. Empty matches every tool.',
      },
      max_matches: { type: 'integer', minimum: 1, maximum: MAX_PAGE_SIZE, default: DEFAULT_MATCHES },
    },
    required: ['query'],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
};

export const CALL_TOOL: McpTool = {
  name: 'call_tool',
  description:
    'Calls a tool that tool_search has found, under its own name and with arguments of its own schema.',
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'The name of the tool.' },
      arguments: { type: 'object', description: 'Its arguments.' },
    },
    required: ['name'],
  },
};

/** What a client lists: every tool; or those that are not deferred, and the two with which the others are reached. */
export function listedTools(tools: readonly Tool[]): readonly McpTool[] {
  const shown = tools.length > MAX_GATEWAY_TOOLS ? [] : tools.filter((tool) => tool.deferLoading !== true);
  const listed = shown.map(offeredTool);
  return shown.length === tools.length ? listed : [SEARCH_TOOL, CALL_TOOL, ...listed];
}

export interface Search {
  readonly query: string;
  readonly maxMatches: number;
}

/** The arguments of tool_search; a sentence where they are none. */
export function readSearch(args: Readonly<Record<string, unknown>>): Search | string {
  const { query = '', max_matches: maxMatches = DEFAULT_MATCHES } = args;
  if (typeof query !== 'string') return 'query has to be a string.';
  if (!Number.isSafeInteger(maxMatches) || Number(maxMatches) < 1 || Number(maxMatches) > MAX_PAGE_SIZE)
    return `max_matches has to be an integer from 1 to ${MAX_PAGE_SIZE}.`;
  return { query, maxMatches: Number(maxMatches) };
}

export function searchResult(tools: readonly Tool[], leftOut: number): CallToolResult {
  const found = tools.map(offeredTool).map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }));
  return { content: [{ type: 'text', text: JSON.stringify({ tools: found, left_out: leftOut }) }] };
}

/** What call_tool calls; a sentence where its arguments name nothing that it can. */
export function readCallee(
  args: Readonly<Record<string, unknown>>,
): { readonly name: string; readonly args: Readonly<Record<string, unknown>> } | string {
  const { name, arguments: inner = {} } = args;
  if (typeof name !== 'string' || name === '')
    return 'name has to be the name of a tool; tool_search finds them.';
  if (name === SEARCH_TOOL.name || name === CALL_TOOL.name)
    return `${name} cannot be called through call_tool.`;
  if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
    return 'arguments has to be an object.';
  return { name, args: { ...inner } };
}
