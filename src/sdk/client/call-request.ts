import { create } from '@bufbuild/protobuf';
import { type CallToolRequest, CallToolRequestSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { Millis } from '../../core/time.ts';
import { type JsonValue, jsonText } from '../json.ts';
import type { Tool } from '../tool.ts';
import { retryPolicyOf } from '../tool-definition.ts';
import type { RetryOptions } from '../tool-options.ts';

/** Arguments as text, sent byte for byte: for integers above 2^53, and for what need not be JSON (1.1). */
export interface RawArguments {
  readonly rawArguments: string;
}

/** What to call: a name, or a tool whose definition gives the types. */
export type ToolReference<Input = unknown, Output = unknown> = Pick<Tool<Input, Output>, 'name' | 'types'>;

export interface CallOptions {
  /**
   * Names the call. The same id with the same name and arguments joins that call (4.12). The client makes
   * one where it is not given, so that a broken connection never makes a second call.
   */
  readonly callId?: string;
  /** A policy for this call. */
  readonly retry?: RetryOptions;
  /** Refuse arguments that do not match, whatever the tool says (1.2). */
  readonly requireValidInput?: boolean;
  /** W3C trace context: traceparent, tracestate, baggage. */
  readonly traceContext?: Readonly<Record<string, string>>;
}

export interface WaitOptions extends CallOptions {
  /** Ends the wait: the call rejects with the signal's reason. The call itself goes on (4.10), unless … */
  readonly signal?: AbortSignal;
  /** … this says that it is cancelled as well. `leave` where it is not given. */
  readonly onAbort?: 'leave' | 'cancel';
  /** Ends the wait likewise, with the status DEADLINE_EXCEEDED. Bound the call itself by `retry`. */
  readonly timeoutMs?: Millis;
}

/** The message of a call. Throws an Error where the arguments are no JSON, or a policy is out of range. */
export function callRequest(
  tool: string | ToolReference,
  args: unknown,
  options: CallOptions,
  newId: () => string,
  allUpdates: boolean,
): CallToolRequest {
  const { callId, retry, requireValidInput, traceContext } = options;
  return create(CallToolRequestSchema, {
    name: typeof tool === 'string' ? tool : tool.name,
    arguments: argumentsText(args),
    callId: callId === undefined || callId === '' ? newId() : callId,
    ...(retry === undefined ? {} : { retry: retryPolicyOf(retry) }),
    ...(requireValidInput === undefined ? {} : { requireValidInput }),
    ...(traceContext === undefined ? {} : { traceContext }),
    allUpdates,
  });
}

function argumentsText(args: unknown): string {
  if (args === undefined) return '{}';
  return isRaw(args) ? args.rawArguments : jsonText(args, 'the arguments');
}

/** Only the member alone: arguments of a tool may have one of that name beside others. */
function isRaw(args: unknown): args is RawArguments {
  if (typeof args !== 'object' || args === null || Object.keys(args).length !== 1) return false;
  return 'rawArguments' in args && typeof args.rawArguments === 'string';
}

/** What may stand for the arguments of a tool that is known by its name alone. */
export type AnyArguments = JsonValue | RawArguments | undefined;
