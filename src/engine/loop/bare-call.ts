import { create } from '@bufbuild/protobuf';
import { ToolHandler, type ToolInput, ToolInputSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import type { PreparedCall } from '../../core/command.ts';
import { failure } from '../../core/failure.ts';
import type { PlannedCall } from '../../core/loop/conversation.ts';
import { WORKER_TOOL_POLICY } from '../../core/policy.ts';

/** A call of a tool that nobody has declared. */
export function bare({ callId, name }: PlannedCall, input: ToolInput): PreparedCall {
  return {
    callId,
    name,
    arguments: undefined,
    toolDigest: '',
    input,
    inputFailure: undefined,
    policy: WORKER_TOOL_POLICY,
    safeToRepeat: false,
    requireValidInput: false,
    handler: ToolHandler.WORKER,
    sequential: false,
    endsTurn: false,
    outcome: undefined,
    approval: undefined,
    placement: undefined,
  };
}

/** A call of a tool that the model was not to have in this iteration. */
export function barred(planned: PlannedCall): PreparedCall {
  const what = `${planned.name} was not offered, and did not run: answer without it.`;
  return {
    ...bare(planned, create(ToolInputSchema, { status: { case: 'valid', value: {} } })),
    outcome: { error: failure('unknown_tool', what) },
  };
}
