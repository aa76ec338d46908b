import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { RetryPolicies } from '../../gen/spindle/v1/retry_pb.ts';
import type { CallToolRequest } from '../../gen/spindle/v1/tool_service_pb.ts';
import type { RequestCall } from '../core/command.ts';
import { failure } from '../core/failure.ts';
import { MAX_ID_CHARS, MAX_TOOL_NAME_CHARS, MAX_TRACE_CONTEXT_BYTES } from '../core/limits.ts';
import { policyFault } from '../core/policy.ts';
import type { Instant } from '../core/time.ts';
import type { Definition } from '../schema/definition.ts';
import type { Schemas } from '../schema/schemas.ts';
import { inputFailure } from './dispatch.ts';
import { checkInput } from './placement.ts';
import { ownTermsOf, termsOf } from './terms.ts';

/** What is wrong with a request, naming the field; undefined where nothing is. */
export function requestFault(request: CallToolRequest): string | undefined {
  if (!/^[^\s\p{C}]+$/u.test(request.name) || isLong(request.name)) {
    return `name must be 1 to ${MAX_TOOL_NAME_CHARS} printable characters without white space`;
  }
  if (request.callId !== '') {
    const fault = idFault('call_id', request.callId);
    if (fault !== undefined) return fault;
  }
  let bytes = 0;
  for (const [name, value] of Object.entries(request.traceContext))
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
  if (bytes > MAX_TRACE_CONTEXT_BYTES) return `trace_context is larger than ${MAX_TRACE_CONTEXT_BYTES} bytes`;
  return request.retry && policyFault(request.retry);
}

/** Characters are at most as many as UTF-16 code units, so that most names need not be taken apart. */
function isLong(name: string): boolean {
  return name.length > MAX_TOOL_NAME_CHARS && [...name].length > MAX_TOOL_NAME_CHARS;
}

/** What is wrong with an id of a client's making; undefined where nothing is. */
export function idFault(field: string, id: string): string | undefined {
  if (id !== '' && id.length <= MAX_ID_CHARS && /^[^\s\p{C}]+$/u.test(id)) return undefined;
  return `${field} must be 1 to ${MAX_ID_CHARS} printable characters without white space`;
}

export interface RequestFacts {
  readonly request: CallToolRequest;
  readonly callId: string;
  readonly caller: Caller;
  readonly definition: Definition | undefined;
  readonly policies: RetryPolicies | undefined;
  readonly schemas: Schemas;
  readonly now: Instant;
  /** Names may still come back, so an unknown tool waits (4.11). */
  readonly namesMayComeBack: boolean;
  /** The nearest names, for the error about an unknown one. */
  readonly nearest: () => readonly string[];
}

/** A request as the core takes it: definition found, arguments checked, policy merged. */
export function requestCommand(facts: RequestFacts): Omit<RequestCall, 'placement'> {
  const { request, callId, caller, definition, policies, schemas, now } = facts;
  const { name } = request;
  const ownTerms = ownTermsOf(request);
  const input = checkInput(schemas, definition, request.arguments);
  const unknown = definition === undefined && !facts.namesMayComeBack;
  return {
    kind: 'request',
    at: now,
    callId,
    name,
    arguments: request.arguments,
    toolDigest: definition?.digest ?? '',
    input,
    inputFailure: inputFailure(name, input),
    ...termsOf(definition?.tool, ownTerms, policies),
    ownTerms: definition === undefined ? ownTerms : undefined,
    caller,
    traceContext: request.traceContext,
    unservable: unknown ? unknownTool(name, facts.nearest()) : undefined,
  };
}

/** The error about a tool that nobody declares, with names that may have been meant. */
export function unknownTool(name: string, nearest: readonly string[]) {
  const hint = nearest.length === 0 ? 'No worker offers any tool.' : `Nearest: ${nearest.join(', ')}.`;
  return failure('unknown_tool', `No tool is called ${name}. ${hint}`);
}
