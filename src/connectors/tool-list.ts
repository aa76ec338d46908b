import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { z } from 'zod';
import {
  CONNECTOR_TIMEOUT_MS,
  MAX_CONNECTOR_LIST_BYTES,
  MAX_CONNECTOR_PAGES,
  MAX_TOOLS_PER_WORKER,
} from '../core/limits.ts';

/** A page of which each tool is looked at by itself, so that a bad one spoils no other (2.2). */
const PageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** A list is taken whole or not at all: half a list would look like tools that are gone. */
export class ListError extends Error {
  override readonly name = 'ListError';
}

/** Every tool that a server lists, over all pages, as it describes them. Rejects beyond the bounds. */
export async function fetchToolList(client: Client): Promise<readonly unknown[]> {
  const tools: unknown[] = [];
  const seen = new Set<string>();
  const signal = AbortSignal.timeout(CONNECTOR_TIMEOUT_MS);
  let bytes = 0;
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: 'tools/list', params }, PageSchema, {
      signal,
      timeout: CONNECTOR_TIMEOUT_MS,
    });
    tools.push(...page.tools);
    if (tools.length > MAX_TOOLS_PER_WORKER)
      throw new ListError(`the server lists more than ${MAX_TOOLS_PER_WORKER} tools`);
    bytes += sizeOf(page.tools);
    if (bytes > MAX_CONNECTOR_LIST_BYTES)
      throw new ListError(`the list is larger than ${MAX_CONNECTOR_LIST_BYTES} bytes`);
    cursor = page.nextCursor;
    if (cursor !== undefined && seen.has(cursor))
      throw new ListError('the pages of the list go round in a circle');
    if (cursor !== undefined) seen.add(cursor);
    if (seen.size >= MAX_CONNECTOR_PAGES)
      throw new ListError(`the list has more than ${MAX_CONNECTOR_PAGES} pages`);
  } while (cursor !== undefined);
  return tools;
}

function sizeOf(tools: readonly unknown[]): number {
  try {
    return JSON.stringify(tools).length;
  } catch (cause) {
    throw new ListError('the list is nested too deeply', { cause });
  }
}
