import { create } from '@bufbuild/protobuf';
import { type Failure, FailureSchema } from '../../gen/spindle/v1/result_pb.ts';
import { duration, type Millis } from '../core/time.ts';
import { type JsonValue, jsonText } from './json.ts';

export interface ToolErrorOptions extends ErrorOptions {
  /** The kind of failure: `tool_error`, another well-known code (4.8), or one of the tool's own. */
  readonly code?: string;
  /** Whether the call's policy may try again. False where it is not given. */
  readonly retryable?: boolean;
  /** Not before this has passed, whatever the policy's backoff says. */
  readonly retryAfterMs?: Millis;
  /** For people and programs. The model never sees it. */
  readonly detail?: JsonValue;
}

/**
 * What a handler throws to fail its attempt on purpose. The model reads the message.
 *
 *     throw new ToolError('The station is down for a minute.', { retryable: true, retryAfterMs: 60_000 });
 */
export class ToolError extends Error {
  override readonly name: string = 'ToolError';
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: Millis | undefined;
  readonly detail: JsonValue | undefined;

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message, options);
    this.code = options.code ?? 'tool_error';
    this.retryable = options.retryable ?? false;
    this.retryAfterMs = options.retryAfterMs;
    this.detail = options.detail;
  }
}

/**
 * What a model handler throws to fail its attempt on purpose.
 *
 *     throw new ModelError('Too many requests.', { code: 'rate_limited', retryable: true });
 */
export class ModelError extends ToolError {
  /** The code where none is given. */
  static readonly code = 'provider_error';
  override readonly name = 'ModelError';

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message, { code: ModelError.code, ...options });
  }
}

/**
 * The failure that whatever a handler threw becomes. An error that is no ToolError keeps its message alone:
 * its stack is for the worker's own logs, and nobody said that trying again would help.
 *
 * @param unnamed the code of an error that names none
 */
export function failureOf(thrown: unknown, unnamed = 'tool_error'): Failure {
  const { name } = typeof thrown === 'object' && thrown !== null ? (thrown as { name?: unknown }) : {};
  // By name as well: a worker may have loaded this package twice.
  const meant =
    thrown instanceof ToolError ||
    (thrown instanceof Error && (name === 'ToolError' || name === 'ModelError'));
  if (!meant) return create(FailureSchema, { code: unnamed, message: messageOf(thrown) });
  const { code, message, retryable, retryAfterMs, detail } = thrown as ToolError;
  return create(FailureSchema, {
    code: code === '' ? unnamed : code,
    message,
    retryable,
    ...(retryAfterMs === undefined ? {} : { retryAfter: duration(retryAfterMs) }),
    detailJson: detailText(detail),
  });
}

/** The detail is an extra: one that is no JSON must not hide the failure that it belongs to. */
function detailText(detail: JsonValue | undefined): string {
  if (detail === undefined) return '';
  try {
    return jsonText(detail, '`detail`');
  } catch (error) {
    return jsonText({ unreadable: messageOf(error) });
  }
}

/** One sentence for whatever was thrown, which need not be an Error. */
export function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string' && thrown !== '') return thrown;
  if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message;
  try {
    return `${jsonText(thrown)} was thrown`;
  } catch {
    // What is no JSON has no better name than its type.
    return `a value of type ${typeof thrown} was thrown`;
  }
}
