import type { z } from 'zod';
import type { Tool as ToolMessage } from '../../gen/spindle/v1/tool_pb.ts';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../gen/spindle/v1/worker_service_pb.ts';
import { MAX_IN_FLIGHT } from '../core/limits.ts';
import type { ToolContext } from './context.ts';
import { handle } from './handle.ts';
import type { InvalidInput } from './invalid-input.ts';
import { type Members, refuseUnknown } from './known-members.ts';
import type { AnswerOutcome, Handler } from './outcome.ts';
import type { HandlerHooks } from './tool-context.ts';
import { definitionOf, isZod, type ToolSchemas } from './tool-definition.ts';
import type {
  ClientToolOptions,
  OutputSchema,
  RawParams,
  RawToolOptions,
  ResultValue,
  ToolTraits,
  ZodToolOptions,
} from './tool-options.ts';

/**
 * A defined tool: its definition, as a message, and its handler. The type parameters are what a caller
 * writes and what a caller gets; `client.call(tool, …)` infers them.
 */
export interface Tool<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly definition: ToolMessage;
  /** The most attempts that one worker runs at once; 0 where its own limit alone counts. */
  readonly maxConcurrency: number;
  /** Runs the tool for a dispatch. Undefined for a tool that a client runs. Never rejects. */
  readonly handle:
    | ((dispatch: Dispatch, execute: ToolExecute, hooks: HandlerHooks) => Promise<AnswerOutcome>)
    | undefined;
  /** Carries the types alone; never set. */
  readonly types?: { readonly input: Input; readonly output: Output };
}

// The compiler explains why the last overload does not fit, so the one that most authors mean is the last.
/**
 * Defines a tool. With a Zod `schema`, the parameters of `execute` are what the schema puts out; with a raw
 * `jsonSchema` alone they are a JSON object, or what the first type argument says. With a Zod `outputSchema`
 * the return value of `execute` is checked against what that schema takes.
 *
 *     const weather = defineTool({
 *       name: 'weather',
 *       description: 'The weather in a city.',
 *       schema: z.object({ city: z.string() }),
 *       outputSchema: z.object({ celsius: z.number() }),
 *       execute: async ({ city }, { signal }) => ({ celsius: await look(city, signal) }),
 *     });
 *
 * Throws an Error that names the tool and the option where the definition breaks a rule (2.5).
 */
export function defineTool<Params = RawParams, Output extends OutputSchema = undefined>(
  options: RawToolOptions<Params, Output>,
): Tool<Params, ResultValue<Output>>;
export function defineTool<Schema extends z.ZodType, Output extends OutputSchema = undefined>(
  options: ZodToolOptions<Schema, Output>,
): Tool<z.input<Schema>, ResultValue<Output>>;
export function defineTool(options: ErasedOptions): Tool {
  refuseUnknown(options, TOOL_MEMBERS, `tool ${options.name}`);
  const { maxConcurrency = 0 } = options;
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 0 || maxConcurrency > MAX_IN_FLIGHT) {
    throw new Error(
      `tool ${options.name}: maxConcurrency is ${maxConcurrency}; it has to be 0 to ${MAX_IN_FLIGHT}`,
    );
  }
  if (options.invalidInput === 'engine' && options.onInvalidInput !== undefined) {
    throw new Error(
      `tool ${options.name}: onInvalidInput is never called with invalidInput 'engine': give one of them`,
    );
  }
  const definition = definitionOf(options, options, 'worker');
  const handler: Handler = {
    schema: options.schema,
    output: isZod(options.outputSchema) ? options.outputSchema : undefined,
    structured: options.outputSchema !== undefined,
    // Bound, so that options may be an object with methods that use `this`.
    execute: options.execute.bind(options),
    onInvalidInput: options.onInvalidInput?.bind(options),
    describeActivity: options.describeActivity?.bind(options),
    describeCompletedActivity: options.describeCompletedActivity?.bind(options),
  };
  return Object.freeze({
    name: options.name,
    definition,
    maxConcurrency,
    handle: (dispatch: Dispatch, execute: ToolExecute, hooks: HandlerHooks) =>
      handle(handler, dispatch, execute, hooks),
  });
}

/** The options once the overloads have checked their types: only the schemas know the parameters now. */
interface ErasedOptions extends ToolTraits, ToolSchemas {
  readonly maxConcurrency?: number;
  execute(params: unknown, context: ToolContext): unknown;
  onInvalidInput?(input: InvalidInput, context: ToolContext): unknown;
  describeActivity?(params: unknown): string;
  describeCompletedActivity?(params: unknown, result: unknown): string;
}

const CLIENT_TOOL_MEMBERS: Members<ClientToolOptions> = {
  name: true,
  description: true,
  strict: true,
  namespace: true,
  namespaceDescription: true,
  defer: true,
  executionMode: true,
  annotations: true,
  retry: true,
  argumentRepair: true,
  invalidInput: true,
  endsTurn: true,
  schema: true,
  jsonSchema: true,
  outputSchema: true,
};

const TOOL_MEMBERS: Members<ErasedOptions> = {
  ...CLIENT_TOOL_MEMBERS,
  maxConcurrency: true,
  execute: true,
  onInvalidInput: true,
  describeActivity: true,
  describeCompletedActivity: true,
};

/** Defines a tool that the owner of a session runs: it is declared here and settled by a client (6.9). */
export function defineClientTool(options: ClientToolOptions): Tool {
  refuseUnknown(options, CLIENT_TOOL_MEMBERS, `tool ${options.name}`);
  return Object.freeze({
    name: options.name,
    definition: definitionOf(options, options, 'client'),
    maxConcurrency: 0,
    handle: undefined,
  });
}
