/** The engine's own tools (4.11). Nobody else may declare a tool of these names to an agent. */
export const TOOL_SEARCH = 'tool_search';
export const CALL_TOOL = 'call_tool';
export const SUBMIT_RESULT = 'submit_result';

export const RESERVED_NAMES: ReadonlySet<string> = new Set([TOOL_SEARCH, CALL_TOOL, SUBMIT_RESULT]);
