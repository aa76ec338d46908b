/** What defines tools and makes results: the part that clients and workers share. */
export type { Block, McpBlock } from './block.ts';
export { audio, image, resource, resourceLink, text } from './content.ts';
export {
  CallStopped,
  type DeferOptions,
  type Deferral,
  type InputVerdict,
  type Interruption,
  type InterruptOptions,
  type ProgressReport,
  type StopReason,
  type ToolContext,
  type Violation,
} from './context.ts';
export type { InputAnswer, InvalidInput } from './invalid-input.ts';
export type { JsonObject, JsonValue } from './json.ts';
export { type RawJson, rawJson } from './raw-json.ts';
export {
  type ConversionOptions,
  type FullResult,
  type ResultFields,
  result,
  toToolResult,
} from './result.ts';
export { defineClientTool, defineTool, type Tool } from './tool.ts';
export { ModelError, ToolError, type ToolErrorOptions } from './tool-error.ts';
export type {
  AnnotationOptions,
  ClientToolOptions,
  HandlerResult,
  OutputSchema,
  RawToolOptions,
  RetryOptions,
  ToolTraits,
  ZodToolOptions,
} from './tool-options.ts';
export { defineToolchain, type Toolchain, type ToolchainOptions } from './toolchain.ts';
