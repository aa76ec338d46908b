import type { Call } from '../../../gen/spindle/v1/call_pb.ts';
import type { Failure, ToolResult } from '../../../gen/spindle/v1/result_pb.ts';
import type { CallToolResponse } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { type Millis, millisOf } from '../../core/time.ts';
import type { JsonValue } from '../json.ts';

/**
 * How a call ended. A tool's failure is an outcome like its result; only a request that was refused or did
 * not get through is thrown, as a SpindleError.
 */
export type CallResult<Value = unknown> =
  | {
      readonly ok: true;
      readonly callId: string;
      /** How many attempts it took. */
      readonly attempts: number;
      /** The structured result, where the tool gave one; else undefined. */
      readonly value: Value;
      /** The text blocks, one after the other. */
      readonly text: string;
      /** The result in full: images, resources, details. Bytes are blob references for `readBlob`. */
      readonly result: ToolResult;
    }
  | {
      readonly ok: false;
      readonly callId: string;
      readonly attempts: number;
      readonly error: CallFailure;
      /** The tool ran and answered with an error of its own: its result in full. */
      readonly result?: ToolResult;
    };

/** How a call failed (4.8). */
export interface CallFailure {
  /** One of the well-known codes, or the tool's own. */
  readonly code: string;
  /** One sentence; it is what a model would read. */
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs: Millis | undefined;
  /** For people and programs. */
  readonly detail: JsonValue | undefined;
  /** The work was handed out and may have taken effect, though no answer says so (4.6). */
  readonly mayHaveTakenEffect: boolean;
}

/** The end that a response tells of. A typed call takes the tool's own word for its value: the engine checked it. */
export function callResultOf<Value>(
  response: Pick<CallToolResponse, 'callId' | 'attempts' | 'outcome'>,
): CallResult<Value> {
  const { callId, attempts, outcome } = response;
  switch (outcome.case) {
    case 'result':
      return outcome.value.isError
        ? { ok: false, callId, attempts, error: errorOf(outcome.value), result: outcome.value }
        : {
            ok: true,
            callId,
            attempts,
            value: structuredOf(outcome.value) as Value,
            text: textOf(outcome.value),
            result: outcome.value,
          };
    case 'error':
      return { ok: false, callId, attempts, error: callFailureOf(outcome.value) };
    case undefined:
      return { ok: false, callId, attempts, error: { ...NO_FAILURE, code: 'internal', message: NO_OUTCOME } };
  }
}

/** How a call that `client.get` or `client.list` gave has ended; undefined while it has not. */
export function callEnd(call: Call): CallResult | undefined {
  const { callId, attempt: attempts, outcome } = call;
  return outcome.case === undefined ? undefined : callResultOf({ callId, attempts, outcome });
}

const NO_OUTCOME = 'the engine said that the call had ended, and not how: it may be newer than this client';
const NO_FAILURE = {
  retryable: false,
  retryAfterMs: undefined,
  detail: undefined,
  mayHaveTakenEffect: false,
};

export function callFailureOf(failure: Failure): CallFailure {
  return {
    code: failure.code,
    message: failure.message,
    retryable: failure.retryable,
    retryAfterMs: failure.retryAfter === undefined ? undefined : millisOf(failure.retryAfter),
    detail: jsonOrUndefined(failure.detailJson),
    mayHaveTakenEffect: failure.mayHaveTakenEffect,
  };
}

/** The tool reports the failure by a result that is an error; the model reads its text. */
function errorOf(result: ToolResult): CallFailure {
  return {
    ...NO_FAILURE,
    code: 'tool_error',
    message: textOf(result),
    detail: jsonOrUndefined(result.detailsJson),
  };
}

function textOf(result: ToolResult): string {
  return result.content.map(({ kind }) => (kind.case === 'text' ? kind.value.text : '')).join('');
}

function structuredOf(result: ToolResult): unknown {
  return result.structuredJson === undefined ? undefined : jsonOrUndefined(result.structuredJson);
}

/** What a worker wrote need not be JSON; a caller that wants the text itself finds it in the result. */
function jsonOrUndefined(json: string): JsonValue | undefined {
  if (json === '') return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
