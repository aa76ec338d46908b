import { create } from '@bufbuild/protobuf';
import { type OwnTerms, OwnTermsSchema } from '../../gen/spindle/v1/event_pb.ts';
import type { RetryPolicies } from '../../gen/spindle/v1/retry_pb.ts';
import { InvalidInputHandling, type Tool, ToolHandler } from '../../gen/spindle/v1/tool_pb.ts';
import type { CallToolRequest } from '../../gen/spindle/v1/tool_service_pb.ts';
import type { Terms } from '../core/call.ts';
import { CONNECTOR_TOOL_POLICY, isSafeToRepeat, mergePolicies, WORKER_TOOL_POLICY } from '../core/policy.ts';

/** What a caller asks for itself. */
export function ownTermsOf({ retry, requireValidInput }: CallToolRequest): OwnTerms {
  if (retry === undefined && requireValidInput === undefined) return NO_TERMS;
  return create(OwnTermsSchema, {
    ...(retry === undefined ? {} : { retry }),
    ...(requireValidInput === undefined ? {} : { requireValidInput }),
  });
}

/** Of most callers, shared: a message is never changed once it was handed on. */
const NO_TERMS: OwnTerms = create(OwnTermsSchema);

/** Whether the tool's author leaves arguments that do not match to the engine (1.2). */
export function requiresValidInput({ invalidInputHandling }: Tool): boolean {
  return invalidInputHandling === InvalidInputHandling.ENGINE;
}

/** What holds for a call: the layers of engine and deployment, its tool, and its caller (4.1, 4.2, 1.2). */
export function termsOf(
  tool: Tool | undefined,
  { retry, requireValidInput }: OwnTerms,
  policies: RetryPolicies | undefined,
): Terms {
  const widest = tool?.handler === ToolHandler.CONNECTOR ? CONNECTOR_TOOL_POLICY : WORKER_TOOL_POLICY;
  return {
    policy: mergePolicies(widest, policies?.base, policies?.tool, tool?.retry, retry),
    safeToRepeat: isSafeToRepeat(tool, retry),
    requireValidInput: requireValidInput ?? (tool !== undefined && requiresValidInput(tool)),
  };
}
