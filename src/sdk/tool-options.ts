import type { z } from 'zod';
import type { Content, ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import type { Millis } from '../core/time.ts';
import type { JsonSchema } from '../schema/zod.ts';
import type { Block, McpBlock } from './block.ts';
import type { Deferral, Interruption, ToolContext } from './context.ts';
import type { InputAnswer, InvalidInput } from './invalid-input.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { RawJson } from './raw-json.ts';
import type { FullResult } from './result.ts';

/** Hints about what a call does to the world. They inform people and policies; they secure nothing. */
export interface AnnotationOptions {
  readonly title?: string;
  /** The call changes nothing. Makes it safe to repeat (4.2). */
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  /** Calling again with the same arguments has no further effect. Makes it safe to repeat (4.2). */
  readonly idempotent?: boolean;
  /** The call reaches outside the deployment. */
  readonly openWorld?: boolean;
}

/** When a call is retried and how long it may take (4.1). What is not given is inherited. */
export interface RetryOptions {
  /** How long an attempt may wait for a free worker. */
  readonly queueTimeoutMs?: Millis;
  /** How long one attempt may run. */
  readonly runTimeoutMs?: Millis;
  /** How long the whole call may take, every attempt and wait included. */
  readonly totalTimeoutMs?: Millis;
  /** How long a running attempt may go without `context.progress`. */
  readonly heartbeatTimeoutMs?: Millis;
  /** Attempts in all. Above 1 it says that the tool is safe to repeat (4.2). */
  readonly maxAttempts?: number;
  /** The wait before the second attempt. */
  readonly initialBackoffMs?: Millis;
  /** The longest wait between attempts. */
  readonly maxBackoffMs?: Millis;
  /** The factor from one wait to the next; at least 1. */
  readonly backoffMultiplier?: number;
}

/** What every tool says about itself, beside its schemas and its handler. */
export interface ToolTraits {
  /** 1 to 256 printable characters without white space. */
  readonly name: string;
  /** What the tool does. The model reads this to decide whether to call it. */
  readonly description: string;
  /** Ask the model's provider to enforce the argument schema. */
  readonly strict?: boolean;
  /** Groups related tools; `defineToolchain` sets it. */
  readonly namespace?: string;
  readonly namespaceDescription?: string;
  /** Keep the definition out of the model's request until a search finds it (6.8). */
  readonly defer?: boolean;
  /** Whether the call may run beside others of the same model response (6.2). Parallel if not given. */
  readonly executionMode?: 'parallel' | 'sequential';
  readonly annotations?: AnnotationOptions;
  readonly retry?: RetryOptions;
  /** Whether arguments that are not JSON are repaired (1.7). Never, if neither tool nor agent says. */
  readonly argumentRepair?: 'never' | 'bounded';
  /** Who deals with arguments that do not match (1.2). The worker if not given. */
  readonly invalidInput?: 'worker' | 'engine';
  /** A successful result ends the turn (3.5). */
  readonly endsTurn?: boolean;
}

/** A schema of results: Zod, which parses what the handler returns, or JSON Schema for the engine alone. */
export type OutputSchema = z.ZodType | JsonSchema | undefined;

type MarkedAnswer = Deferral | Interruption;

/** What a handler of a tool with this output schema may return (3.1). */
export type HandlerResult<Output extends OutputSchema> = Output extends z.ZodType
  ? z.input<Output> | FullResult<z.input<Output>> | RawJson | MarkedAnswer
  : FreeResult | MarkedAnswer;

/** What a handler may return where no Zod schema says more. */
export type FreeResult =
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement is a handler.
  | void
  | JsonValue
  | Block
  | readonly (Content | McpBlock)[]
  | {
      readonly content: readonly Block[];
      readonly structured?: JsonValue;
      readonly isError?: boolean;
      readonly endsTurn?: boolean;
      readonly activity?: string;
      readonly details?: JsonValue;
    }
  | FullResult
  | RawJson
  | ToolResult;

/** The value that callers of a tool with this output schema get. */
export type ResultValue<Output extends OutputSchema> = Output extends z.ZodType ? z.output<Output> : unknown;

type Awaitable<T> = T | Promise<T>;

interface HandlerOptions<Params, Output extends OutputSchema> {
  /** The results, checked by the engine (3.2). With Zod they are parsed here first, and the parsed is sent. */
  readonly outputSchema?: Output;
  /** The most attempts of the tool that one worker runs at once. Its own limit alone if not given. */
  readonly maxConcurrency?: number;
  /** Runs the tool. Throw a ToolError to fail on purpose; any other error is a `tool_error`. */
  execute(params: Params, context: ToolContext): Awaitable<HandlerResult<Output>>;
  /** Deals with invalid or malformed arguments. Without it the engine's proposal is accepted (1.2). */
  onInvalidInput?(
    input: InvalidInput,
    context: ToolContext,
  ): Awaitable<InputAnswer | HandlerResult<Output> | undefined>;
  /** A short label for people while the call runs: Reading report.pdf, say (6.13). */
  describeActivity?(params: Params): string;
  /** A summary that replaces the label at the end. `result` is what the handler returned. */
  describeCompletedActivity?(params: Params, result: HandlerResult<Output>): string;
}

/** A tool whose arguments Zod describes and parses: `execute` gets the output of the schema (1.1). */
export interface ZodToolOptions<Schema extends z.ZodType, Output extends OutputSchema>
  extends ToolTraits,
    HandlerOptions<z.output<Schema>, Output> {
  readonly schema: Schema;
  /** Goes on the wire in place of the schema's own JSON Schema; Zod still parses (2.5). */
  readonly jsonSchema?: JsonSchema;
}

/** A tool whose arguments JSON Schema describes, or nothing: `execute` gets them as they are. */
export interface RawToolOptions<Params, Output extends OutputSchema>
  extends ToolTraits,
    HandlerOptions<Params, Output> {
  readonly schema?: undefined;
  /** The arguments. Without it any JSON object is valid. */
  readonly jsonSchema?: JsonSchema;
}

/** A tool that the owner of a session runs, a browser say: it has no handler here (6.9). */
export interface ClientToolOptions extends ToolTraits {
  readonly schema?: z.ZodType;
  readonly jsonSchema?: JsonSchema;
  readonly outputSchema?: OutputSchema;
}

/** The arguments of a raw tool that declares no type for them. */
export type RawParams = JsonObject;
