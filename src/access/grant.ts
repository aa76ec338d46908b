import { MAX_GLOBS, MAX_GLOBS_CHARS, MAX_ID_CHARS, MAX_TOOL_NAME_CHARS } from '../core/limits.ts';
import type { Grant } from '../core/rights.ts';

const NAME = /^[^\s\p{C}]+$/u;

/** What is wrong with what a credential is to grant, naming the field; undefined where nothing is. */
export function grantFault(
  grant: Pick<Grant, 'tenant' | 'subject' | 'tools' | 'agents'>,
): string | undefined {
  for (const field of ['tenant', 'subject'] as const) {
    const name = grant[field];
    if (name.length > MAX_ID_CHARS || !NAME.test(name))
      return `${field} must be 1 to ${MAX_ID_CHARS} printable characters without white space`;
  }
  return globsFault('tools', grant.tools) ?? globsFault('agents', grant.agents);
}

function globsFault(field: string, globs: readonly string[]): string | undefined {
  if (globs.length > MAX_GLOBS) return `${field} may hold ${MAX_GLOBS} globs`;
  let chars = 0;
  for (const glob of globs) {
    if (glob.length > MAX_TOOL_NAME_CHARS || !NAME.test(glob))
      return `${field} must hold globs of 1 to ${MAX_TOOL_NAME_CHARS} printable characters without white space`;
    chars += glob.length + 1;
  }
  return chars > MAX_GLOBS_CHARS ? `${field} may have ${MAX_GLOBS_CHARS} characters together` : undefined;
}
