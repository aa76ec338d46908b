import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Failure, FailureSchema } from '../../gen/spindle/v1/result_pb.ts';

/** The well-known codes of failures (4.8). Tools may add their own; docs/errors.md explains each. */
export const FAILURE_CODES = [
  'invalid_arguments',
  'unknown_tool',
  'tool_error',
  'invalid_output',
  'invalid_answer',
  'queue_timeout',
  'run_timeout',
  'total_timeout',
  'heartbeat_timeout',
  'outcome_unknown',
  'rejected',
  'cancelled',
  'denied',
  'request_too_large',
  'result_too_large',
  'overloaded',
  'provider_error',
  'rate_limited',
  'refused',
  'context_overflow',
  'max_iterations',
  'repeated_call',
  'budget_exceeded',
  'task_not_submitted',
  'decider_unavailable',
  'internal',
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/** A failure of the engine's own making. */
export function failure(
  code: FailureCode,
  message: string,
  more: Omit<MessageInitShape<typeof FailureSchema>, 'code' | 'message' | '$typeName'> = {},
): Failure {
  return create(FailureSchema, { ...more, code, message });
}
