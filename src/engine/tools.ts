import { create } from '@bufbuild/protobuf';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type {
  ListToolsRequest,
  ListToolsResponse,
  SearchToolsRequest,
  SearchToolsResponse,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { ListToolsResponseSchema, SearchToolsResponseSchema } from '../../gen/spindle/v1/tool_service_pb.ts';
import { matchesGlob } from '../core/globs.ts';
import { DEFAULT_MATCHES, DEFAULT_TOOLS, MAX_GLOBS, MAX_PAGE_SIZE, MAX_QUERY_CHARS } from '../core/limits.ts';
import { accepted, type Outcome, refused } from '../core/refusal.ts';
import { namesTool } from '../core/rights.ts';
import type { Workers } from './ports.ts';
import { searchTools } from './search.ts';

/** What connected workers offer, as clients see it. */
export interface Tools {
  list(caller: Caller, request: ListToolsRequest): Outcome<ListToolsResponse>;
  search(caller: Caller, request: SearchToolsRequest): Outcome<SearchToolsResponse>;
}

export function createTools(workers: Workers): Tools {
  return {
    list(caller, { names, pageSize, pageToken }) {
      if (names.length > MAX_GLOBS) return refused('invalid_request', `names may hold ${MAX_GLOBS} globs`);
      if (pageSize > MAX_PAGE_SIZE)
        return refused('invalid_request', `page_size must be at most ${MAX_PAGE_SIZE}`);
      const after = Buffer.from(pageToken, 'base64url').toString();
      if (tokenOf(after) !== pageToken)
        return refused('invalid_request', 'page_token is not from an answer to ListTools');
      const matching = workers
        .served(caller.tenant)
        .filter(({ definition: { tool } }) => namesTool(caller, tool.name))
        .filter(
          ({ definition: { tool } }) =>
            names.length === 0 || names.some((glob) => matchesGlob(glob, tool.name)),
        )
        .filter(({ definition: { tool } }) => tool.name > after)
        .sort((a, b) => (a.definition.tool.name < b.definition.tool.name ? -1 : 1));
      const page = matching.slice(0, pageSize === 0 ? DEFAULT_TOOLS : pageSize);
      const last = page.length < matching.length ? page.at(-1)?.definition.tool.name : undefined;
      return accepted(
        create(ListToolsResponseSchema, {
          tools: page.map(({ definition, workers: count, workersWithOtherDefinition, connectorId }) => ({
            tool: definition.tool,
            workers: count,
            workersWithOtherDefinition,
            connectorId: connectorId ?? '',
          })),
          nextPageToken: last === undefined ? '' : tokenOf(last),
        }),
      );
    },
    search(caller, { query, maxMatches }) {
      if (query.length > MAX_QUERY_CHARS)
        return refused('invalid_request', `query may have ${MAX_QUERY_CHARS} characters`);
      if (maxMatches > MAX_PAGE_SIZE)
        return refused('invalid_request', `max_matches must be at most ${MAX_PAGE_SIZE}`);
      const offered = workers
        .served(caller.tenant)
        .map(({ definition }) => definition.tool)
        .filter(({ name }) => namesTool(caller, name));
      const { tools, leftOut } = searchTools(offered, query, maxMatches === 0 ? DEFAULT_MATCHES : maxMatches);
      return accepted(create(SearchToolsResponseSchema, { tools: [...tools], leftOut }));
    },
  };
}

/** Where a page ends: at a name. */
function tokenOf(name: string): string {
  return Buffer.from(name).toString('base64url');
}
