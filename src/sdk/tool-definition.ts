import { create } from '@bufbuild/protobuf';
import type { z } from 'zod';
import { type RetryPolicy, RetryPolicySchema } from '../../gen/spindle/v1/retry_pb.ts';
import {
  ArgumentRepair,
  ExecutionMode,
  InvalidInputHandling,
  ToolHandler,
  type Tool as ToolMessage,
  ToolSchema,
} from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_ATTEMPTS, MAX_POLICY_DURATION_MS, MAX_TOOL_NAME_CHARS } from '../core/limits.ts';
import { duration } from '../core/time.ts';
import { type JsonSchema, jsonSchemaOf } from '../schema/zod.ts';
import { jsonText } from './json.ts';
import { type Members, refuseUnknown } from './known-members.ts';
import { messageOf } from './tool-error.ts';
import type { AnnotationOptions, OutputSchema, RetryOptions, ToolTraits } from './tool-options.ts';

/** The schemas of a tool, as its author gave them. */
export interface ToolSchemas {
  readonly schema?: z.ZodType | undefined;
  readonly jsonSchema?: JsonSchema | undefined;
  readonly outputSchema?: OutputSchema;
}

/** The message of a definition. Throws an Error that names the tool and the option that breaks a rule. */
export function definitionOf(
  traits: ToolTraits,
  schemas: ToolSchemas,
  handler: 'worker' | 'client',
): ToolMessage {
  const name = checkedName(traits.name);
  const within = <T>(option: string, make: () => T): T => {
    try {
      return make();
    } catch (error) {
      throw new Error(`tool ${name}: ${option}: ${messageOf(error)}`, { cause: error });
    }
  };
  return create(ToolSchema, {
    name,
    description: traits.description,
    inputSchemaJson: within('schema', () => inputSchemaText(schemas)),
    outputSchemaJson: within('outputSchema', () => outputSchemaText(schemas.outputSchema)),
    handler: handler === 'client' ? ToolHandler.CLIENT : ToolHandler.WORKER,
    ...(traits.defer === undefined ? {} : { deferLoading: traits.defer }),
    strict: traits.strict ?? false,
    namespace: traits.namespace ?? '',
    namespaceDescription: traits.namespaceDescription ?? '',
    executionMode: EXECUTION_MODES[traits.executionMode ?? 'unspecified'],
    ...(traits.annotations === undefined
      ? {}
      : { annotations: { ...knownAnnotations(traits.annotations), title: traits.annotations.title ?? '' } }),
    ...(traits.retry === undefined
      ? {}
      : { retry: within('retry', () => retryPolicyOf(traits.retry ?? {})) }),
    argumentRepair: REPAIRS[traits.argumentRepair ?? 'unspecified'],
    endsTurn: traits.endsTurn ?? false,
    invalidInputHandling: INVALID_INPUT[traits.invalidInput ?? 'unspecified'],
  });
}

function knownAnnotations(annotations: AnnotationOptions): AnnotationOptions {
  const members: Members<AnnotationOptions> = {
    title: true,
    readOnly: true,
    destructive: true,
    idempotent: true,
    openWorld: true,
  };
  refuseUnknown(annotations, members, 'annotations');
  return annotations;
}

const EXECUTION_MODES = {
  unspecified: ExecutionMode.UNSPECIFIED,
  parallel: ExecutionMode.PARALLEL,
  sequential: ExecutionMode.SEQUENTIAL,
};
const REPAIRS = {
  unspecified: ArgumentRepair.UNSPECIFIED,
  never: ArgumentRepair.NEVER,
  bounded: ArgumentRepair.BOUNDED,
};
const INVALID_INPUT = {
  unspecified: InvalidInputHandling.UNSPECIFIED,
  worker: InvalidInputHandling.WORKER,
  engine: InvalidInputHandling.ENGINE,
};

/** Checks the rule of Tool.name, and names the offender. */
function checkedName(name: string): string {
  if (!/^[^\s\p{C}]+$/u.test(name) || [...name].length > MAX_TOOL_NAME_CHARS) {
    throw new Error(
      `tool ${JSON.stringify(name)}: a name is 1 to ${MAX_TOOL_NAME_CHARS} printable characters without white space`,
    );
  }
  return name;
}

function inputSchemaText({ schema, jsonSchema }: ToolSchemas): string {
  if (jsonSchema !== undefined) return jsonText(jsonSchema, '`jsonSchema`');
  return schema === undefined ? '' : jsonText(jsonSchemaOf(schema, 'input'), 'the schema');
}

function outputSchemaText(schema: OutputSchema): string {
  if (schema === undefined) return '';
  // What is sent has been through the parser, so its output side is what the engine has to check.
  return jsonText(isZod(schema) ? jsonSchemaOf(schema, 'output') : schema, 'the schema');
}

/** Zod's schemas implement the Standard Schema interface; JSON Schema has no such keyword. */
export function isZod(schema: OutputSchema): schema is z.ZodType {
  return schema !== undefined && '~standard' in schema;
}

const RETRY_MEMBERS: Members<RetryOptions> = {
  queueTimeoutMs: true,
  runTimeoutMs: true,
  totalTimeoutMs: true,
  heartbeatTimeoutMs: true,
  maxAttempts: true,
  initialBackoffMs: true,
  maxBackoffMs: true,
  backoffMultiplier: true,
};

/** The message of a policy. Throws an Error that names the bound that is out of range (4.1). */
export function retryPolicyOf(options: RetryOptions): RetryPolicy {
  refuseUnknown(options, RETRY_MEMBERS, 'a policy');
  const length = (name: keyof RetryOptions) => {
    const value = options[name];
    if (value === undefined) return undefined;
    if (!(value > 0 && value <= MAX_POLICY_DURATION_MS)) {
      throw new Error(`${name} is ${value}; it has to be above 0 and at most ${MAX_POLICY_DURATION_MS} ms`);
    }
    return duration(value);
  };
  const { maxAttempts, backoffMultiplier } = options;
  if (maxAttempts !== undefined) {
    if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > MAX_ATTEMPTS) {
      throw new Error(`maxAttempts is ${maxAttempts}; it has to be an integer from 1 to ${MAX_ATTEMPTS}`);
    }
  }
  if (backoffMultiplier !== undefined && !(backoffMultiplier >= 1 && Number.isFinite(backoffMultiplier))) {
    throw new Error(`backoffMultiplier is ${backoffMultiplier}; it has to be at least 1`);
  }
  const policy = {
    queueTimeout: length('queueTimeoutMs'),
    runTimeout: length('runTimeoutMs'),
    totalTimeout: length('totalTimeoutMs'),
    heartbeatTimeout: length('heartbeatTimeoutMs'),
    maxAttempts,
    initialBackoff: length('initialBackoffMs'),
    maxBackoff: length('maxBackoffMs'),
    backoffMultiplier,
  };
  return create(
    RetryPolicySchema,
    Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined)),
  );
}
