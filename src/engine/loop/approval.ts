import { create } from '@bufbuild/protobuf';
import { type InterruptAction, InterruptActionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import type { ApprovalPolicy } from '../../../gen/spindle/v1/agent_pb.ts';
import type { Tool } from '../../../gen/spindle/v1/tool_pb.ts';
import type { PreparedCall } from '../../core/command.ts';
import { matchesGlob } from '../../core/globs.ts';

/** By name, or because it may destroy something and does not say that it does not (6.11). */
export function wantsApproval(policy: ApprovalPolicy | undefined, { name, annotations }: Tool): boolean {
  if (policy === undefined) return false;
  if (policy.names.some((glob) => matchesGlob(glob, name))) return true;
  return policy.destructive && annotations?.destructive !== false && annotations?.readOnly !== true;
}

/** What runs is what was shown: the arguments are in the question, byte for byte (6.11). */
export function approval({ callId, name }: PreparedCall, text: string): InterruptAction {
  const payloadJson = JSON.stringify({ tool: name, arguments: text });
  return create(InterruptActionSchema, { callId, reason: 'approval', payloadJson });
}
