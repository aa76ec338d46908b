import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_TOOL_NAME_CHARS } from '../core/limits.ts';
import { policyFault } from '../core/policy.ts';

/** The names of the engine's own tools (4.11). */
const RESERVED_TOOL_NAMES: ReadonlySet<string> = new Set(['tool_search', 'call_tool', 'submit_result']);

/** What is wrong with a tool apart from its schemas; undefined where nothing is. */
export function toolFault(tool: Tool): string | undefined {
  return nameFault(tool.name) ?? (tool.retry && policyFault(tool.retry));
}

/** What is wrong with a tool's name: printable characters without white space, as Tool.name says. */
export function nameFault(name: string): string | undefined {
  if (name === '') return 'it has no name: give it one';
  // One code point takes at most two UTF-16 code units.
  if (name.length > 2 * MAX_TOOL_NAME_CHARS || [...name].length > MAX_TOOL_NAME_CHARS) {
    return `its name is longer than ${MAX_TOOL_NAME_CHARS} characters: shorten it`;
  }
  if (/[\p{White_Space}\p{C}]/u.test(name)) {
    return 'its name holds white space or a character that does not print: use letters, digits and punctuation';
  }
  if (RESERVED_TOOL_NAMES.has(name)) return 'its name is reserved for a tool of the engine: choose another';
  return undefined;
}
