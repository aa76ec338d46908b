import { create } from '@bufbuild/protobuf';
import { type Failure, FailureSchema, type ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import type { Answer } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { WorkerAnswer } from '../core/command.ts';
import { failure } from '../core/failure.ts';
import {
  MAX_ID_CHARS,
  MAX_LABEL_CHARS,
  MAX_POLICY_DURATION_MS,
  MAX_RESULT_BYTES,
  TEXT_EXCERPT_BYTES,
} from '../core/limits.ts';
import { duration, millisOf } from '../core/time.ts';
import { resultOfValue, withContent } from '../schema/answer.ts';
import type { Definition } from '../schema/definition.ts';
import type { Schemas } from '../schema/schemas.ts';
import type { Blobs } from './ports.ts';
import { isTooLarge, jsonFieldFault, needsBlobs, resultFault, storeBytes } from './results.ts';

/** What an answer is read with. */
export interface ReadingOptions {
  readonly schemas: Schemas;
  readonly blobs: Blobs;
  readonly tenant: string;
  /** The definition that the call was dispatched under, where it is known. */
  readonly definition: Definition | undefined;
  /** What accepting the proposal would end the call with. */
  readonly proposed: Failure | undefined;
  /** Names an interrupt for which the worker gave no id. */
  readonly newId: () => string;
}

/**
 * Reads what a worker said: checks it against the output schema, and puts bytes where they belong (section 3).
 * A promise only where bytes have to be stored, so that the common answer costs none.
 */
export function readAnswer(
  { outcome }: Answer,
  options: ReadingOptions,
): WorkerAnswer | Promise<WorkerAnswer> {
  switch (outcome.case) {
    case 'accept':
      return { kind: 'accept', proposed: options.proposed };
    case 'result':
      return readResult(outcome.value, options);
    case 'valueJson': {
      const read = resultOfValue(outcome.value, options.definition?.tool.outputSchemaJson !== '');
      return read.kind === 'result'
        ? readResult(read.result, options)
        : { kind: 'unfit', reason: read.reason };
    }
    case 'error':
      return { kind: 'failure', failure: readFailure(outcome.value) };
    case 'toolDefer': {
      const { timeout } = outcome.value;
      const millis = timeout === undefined ? undefined : millisOf(timeout);
      if (millis !== undefined && !(millis > 0 && millis <= MAX_POLICY_DURATION_MS)) {
        return { kind: 'unfit', reason: 'tool_defer.timeout must be a positive duration of at most a year' };
      }
      return { kind: 'defer', timeout: millis };
    }
    case 'interrupt': {
      const { interruptId, reason, payloadJson } = outcome.value;
      const fault =
        interruptId.length > MAX_ID_CHARS
          ? `interrupt.interrupt_id is longer than ${MAX_ID_CHARS} characters`
          : jsonFieldFault('interrupt.payload_json', payloadJson);
      if (fault !== undefined) return { kind: 'unfit', reason: fault };
      return {
        kind: 'interrupt',
        interruptId: interruptId || options.newId(),
        reason: excerpt(reason, TEXT_EXCERPT_BYTES),
        payloadJson,
      };
    }
    case 'cancelled':
      return { kind: 'cancelled' };
    case 'modelResponse':
      return { kind: 'unfit', reason: 'model_response does not answer tool.execute' };
    case 'decision':
      return {
        kind: 'unfit',
        reason: 'a decision answers tool.execute only from a worker that is bound to the agent',
      };
    case undefined:
      return { kind: 'unfit', reason: 'the answer has no outcome, or one that this engine does not know' };
  }
}

/** A result, checked and with its bytes stored. Also for answers from outside (4.9). */
export function readResult(result: ToolResult, options: Omit<ReadingOptions, 'proposed' | 'newId'>) {
  const fault = resultFault(result);
  if (fault !== undefined) return { kind: 'unfit', reason: fault } as const;
  const whole = withContent(result);
  const mismatch = options.definition && options.schemas.checkOutput(options.definition, whole);
  if (!needsBlobs(whole)) return bounded(whole, mismatch);
  return storeBytes(whole, options.tenant, options.blobs).then((stored) => bounded(stored, mismatch));
}

/** A result that no reader could take is none (3.4). */
function bounded(result: ToolResult, mismatch: string | undefined) {
  if (!isTooLarge(result)) return { kind: 'result', result, mismatch } as const;
  const message = `The result is larger than ${MAX_RESULT_BYTES} bytes. Return less, or a reference to the data.`;
  return {
    kind: 'failure',
    failure: failure('result_too_large', message, { mayHaveTakenEffect: true }),
  } as const;
}

/** A failure of foreign origin, within bounds. Its code is the tool's own, or `tool_error` (4.8). */
export function readFailure(given: Failure): Failure {
  const message = excerpt(given.message, TEXT_EXCERPT_BYTES);
  const failure = create(FailureSchema, {
    message: message === '' ? 'The tool failed and did not say why.' : message,
    code: given.code === '' ? 'tool_error' : given.code.slice(0, MAX_LABEL_CHARS),
    retryable: given.retryable,
    mayHaveTakenEffect: given.mayHaveTakenEffect,
  });
  if (jsonFieldFault('error.detail_json', given.detailJson) === undefined)
    failure.detailJson = given.detailJson;
  if (given.retryAfter !== undefined) {
    const millis = millisOf(given.retryAfter);
    failure.retryAfter = duration(Math.min(Math.max(millis, 0), MAX_POLICY_DURATION_MS));
  }
  return failure;
}

function excerpt(text: string, maxBytes: number): string {
  return Buffer.byteLength(text) <= maxBytes ? text : `${text.slice(0, maxBytes / 4)} … (cut)`;
}
