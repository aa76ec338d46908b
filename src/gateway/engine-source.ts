import { create } from '@bufbuild/protobuf';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { ListToolsRequestSchema, SearchToolsRequestSchema } from '../../gen/spindle/v1/tool_service_pb.ts';
import { MAX_PAGE_SIZE } from '../core/limits.ts';
import { accepted } from '../core/refusal.ts';
import type { Engine } from '../engine/engine.ts';
import type { CatalogWatch } from './catalog-watch.ts';
import type { ToolSource } from './tool-source.ts';

/** The tools of the engine in this process, as a caller sees them. */
export function engineSource(
  { calls, tools, readBlob }: Engine,
  catalog: CatalogWatch,
  caller: Caller,
): ToolSource {
  return {
    async tools() {
      const offered: Tool[] = [];
      let pageToken = '';
      do {
        const request = create(ListToolsRequestSchema, { pageSize: MAX_PAGE_SIZE, pageToken });
        const page = tools.list(caller, request);
        if (!page.ok) return page;
        offered.push(...page.value.tools.flatMap(({ tool }) => tool ?? []));
        pageToken = page.value.nextPageToken;
      } while (pageToken !== '');
      return accepted(offered);
    },
    async search(query, maxMatches) {
      return tools.search(caller, create(SearchToolsRequestSchema, { query, maxMatches }));
    },
    call: (request, heard, signal) =>
      new Promise((resolve) => {
        const stop = calls.request(caller, request, {
          wantsAll: true,
          update(update) {
            if (update.kind.case === 'finished') resolve(accepted(update.kind.value));
            else heard(update);
          },
          lost: (refusal) => resolve({ ok: false, refusal }),
        });
        signal.addEventListener('abort', stop, { once: true });
      }),
    cancel: (callId, reason) => calls.cancel(caller, { sessionId: '', callId }, reason),
    readBlob: (uri) => readBlob(caller, uri),
    watch: (changed) => catalog.watch(caller.tenant, changed),
  };
}
