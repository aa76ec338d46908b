import { type Tool, ToolHandler } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_TOOL_NAME_CHARS } from '../core/limits.ts';
import { RESERVED_NAMES } from '../core/loop/reserved.ts';
import { policyFault } from '../core/policy.ts';

/** What is wrong with a tool apart from its schemas; undefined where nothing is. */
export function toolFault(tool: Tool): string | undefined {
  return nameFault(tool.name) ?? ownershipFault(tool) ?? (tool.retry && policyFault(tool.retry));
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
  return undefined;
}

/** The engine's own tools have their names to themselves, and nobody else may say that the engine runs a tool (4.11). */
function ownershipFault({ name, handler }: Tool): string | undefined {
  if (RESERVED_NAMES.has(name)) {
    return handler === ToolHandler.ENGINE
      ? undefined
      : 'its name is reserved for a tool of the engine: choose another';
  }
  return handler === ToolHandler.ENGINE
    ? 'its handler is ENGINE, which the engine alone can say of its own tools: leave it unset'
    : undefined;
}
