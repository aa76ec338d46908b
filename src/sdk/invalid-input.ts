import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import type { ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { InputVerdict, Violation } from './context.ts';
import type { JsonValue } from './json.ts';

// Registered, so that two copies of this package in one process know each other's markers.
const ANSWER = Symbol.for('spindle.input_answer');

/** What `accept` and `runWith` give back, for `onInvalidInput` to return. */
export type InputAnswer = { readonly [ANSWER]: true } & (
  | { readonly kind: 'accept' }
  | { readonly kind: 'run'; readonly value: JsonValue }
);

/** Arguments that the engine found wanting, and what a tool can do about them (1.2). */
export type InvalidInput = {
  readonly rawArguments: string;
  /** What the model would read if the tool accepted the engine's proposal. */
  readonly proposal: Failure | undefined;
  /** Accept the proposal: the attempt fails with `invalid_arguments`. Returning nothing does the same. */
  accept(): InputAnswer;
  /** Run the tool with these arguments after all. A Zod schema still parses them. */
  runWith(value: JsonValue): InputAnswer;
} & (
  | {
      readonly status: 'invalid';
      /** The value of the arguments. */
      readonly value: JsonValue;
      readonly violations: readonly Violation[];
    }
  | { readonly status: 'malformed'; readonly error: string }
);

export function isInputAnswer(value: unknown): value is InputAnswer {
  return typeof value === 'object' && value !== null && ANSWER in value;
}

/** The failure that the engine proposes in place of running the tool, where it proposes one. */
export function proposedFailure(dispatch: Dispatch): Failure | undefined {
  for (const { kind } of dispatch.proposed?.actions ?? []) {
    if (kind.case === 'toolError') return kind.value.error;
  }
  return undefined;
}

/** The JSON text of the arguments' value: what a repair made of them, else the text as it came (1.1, 1.7). */
export function argumentsJsonOf({ arguments: given, input }: ToolExecute): string {
  const status = input?.status;
  return (status?.case === 'malformed' ? undefined : status?.value?.repairedJson) ?? given;
}

/** What an author's handler gets to see, or undefined where the arguments are valid. */
export function invalidInputOf(dispatch: Dispatch, execute: ToolExecute): InvalidInput | undefined {
  const common = {
    rawArguments: execute.arguments,
    proposal: proposedFailure(dispatch),
    accept: (): InputAnswer => ({ [ANSWER]: true, kind: 'accept' }),
    runWith: (value: JsonValue): InputAnswer => ({ [ANSWER]: true, kind: 'run', value }),
  };
  const status = execute.input?.status;
  switch (status?.case) {
    case 'invalid': {
      // The engine parsed this text, strictly, before it called it invalid rather than malformed.
      const value: JsonValue = JSON.parse(argumentsJsonOf(execute));
      return { ...common, status: 'invalid', value, violations: violationsOf(status.value) };
    }
    case 'malformed':
      return { ...common, status: 'malformed', error: status.value.error };
    default:
      return undefined;
  }
}

/** The verdict as a handler reads it. One that this version does not know counts as valid: Zod still looks. */
export function verdictOf(input: ToolInput | undefined): InputVerdict {
  const status = input?.status;
  switch (status?.case) {
    case 'invalid': {
      const { repairs } = status.value;
      return { status: 'invalid', repairs, violations: violationsOf(status.value) };
    }
    case 'malformed':
      return { status: 'malformed', error: status.value.error };
    default:
      return { status: 'valid', repairs: status?.value?.repairs ?? [] };
  }
}

function violationsOf(invalid: { readonly violations: readonly Violation[] }): readonly Violation[] {
  return invalid.violations.map(({ instancePath, keyword, message }) => ({ instancePath, keyword, message }));
}
