import type { Content } from '../../../gen/spindle/v1/result_pb.ts';
import type { CallUpdate } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { instantOf, type Millis, millisOf } from '../../core/time.ts';
import { type CallFailure, type CallResult, callFailureOf, callResultOf } from './call-result.ts';

/** Something that happened to a call. `finished` is the last. */
export type CallEvent<Value = unknown> = { readonly callId: string } & (
  | { readonly kind: 'queued' }
  | { readonly kind: 'started'; readonly attempt: number; readonly workerName: string }
  | {
      readonly kind: 'progress';
      readonly completed: number | undefined;
      readonly total: number | undefined;
      readonly activity: string;
      readonly partial: readonly Content[];
    }
  | {
      readonly kind: 'retrying';
      /** The attempt that failed. */
      readonly attempt: number;
      readonly error: CallFailure;
      readonly backoffMs: Millis;
    }
  /** The call waits for an answer from outside (4.9). */
  | { readonly kind: 'open'; readonly deadline: Date | undefined }
  /** The call waits for a person (6.11). */
  | { readonly kind: 'interrupted'; readonly interruptId: string; readonly reason: string }
  | { readonly kind: 'finished'; readonly result: CallResult<Value> }
);

/** The event of an update; undefined for a kind that this version does not know. */
export function callEventOf<Value>(update: CallUpdate): CallEvent<Value> | undefined {
  const { callId, kind } = update;
  switch (kind.case) {
    case 'queued':
      return { callId, kind: 'queued' };
    case 'started': {
      const { attempt, workerName } = kind.value;
      return { callId, kind: 'started', attempt, workerName };
    }
    case 'progress': {
      const { completed, total, activity, partial } = kind.value;
      return { callId, kind: 'progress', completed, total, activity, partial };
    }
    case 'retrying': {
      const { attempt, error, backoff } = kind.value;
      if (error === undefined) return undefined;
      const backoffMs = backoff === undefined ? 0 : millisOf(backoff);
      return { callId, kind: 'retrying', attempt, error: callFailureOf(error), backoffMs };
    }
    case 'open': {
      const { deadline } = kind.value;
      return {
        callId,
        kind: 'open',
        deadline: deadline === undefined ? undefined : new Date(instantOf(deadline)),
      };
    }
    case 'interrupted': {
      const { interruptId, reason } = kind.value;
      return { callId, kind: 'interrupted', interruptId, reason };
    }
    case 'finished':
      return { callId, kind: 'finished', result: callResultOf(kind.value) };
    case 'refused':
    case undefined:
      // A refusal is thrown by whoever made the call.
      return undefined;
  }
}
