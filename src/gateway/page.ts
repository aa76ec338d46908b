import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { GATEWAY_PAGE_BYTES } from '../core/limits.ts';

export interface Page {
  readonly tools: readonly Tool[];
  /** Where the next page begins; undefined at the end. */
  readonly next: string | undefined;
}

/** The page of a list that a cursor names: as many tools as fit, and at least one. Undefined for a cursor that is none. */
export function pageOf(tools: readonly Tool[], cursor: string | undefined): Page | undefined {
  const start = cursor === undefined ? 0 : startOf(tools, cursor);
  if (start === undefined) return undefined;
  let end = start;
  for (let bytes = 0; end < tools.length; end++) {
    bytes += JSON.stringify(tools[end]).length;
    if (bytes > GATEWAY_PAGE_BYTES && end > start) break;
  }
  const last = tools[end - 1];
  return {
    tools: tools.slice(start, end),
    next: end < tools.length && last !== undefined ? cursorAt(last) : undefined,
  };
}

/** A page ends at a name, so that tools that come and go in between move nothing but themselves. */
function cursorAt({ name }: Tool): string {
  return Buffer.from(name).toString('base64url');
}

function startOf(tools: readonly Tool[], cursor: string): number | undefined {
  const name = Buffer.from(cursor, 'base64url').toString();
  if (name === '' || Buffer.from(name).toString('base64url') !== cursor) return undefined;
  const at = tools.findIndex((tool) => tool.name === name);
  if (at >= 0) return at + 1;
  const after = tools.findIndex((tool) => tool.name > name);
  return after < 0 ? tools.length : after;
}
