import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Call } from '../../../gen/spindle/v1/call_pb.ts';
import type { ToolCallRequested } from '../../../gen/spindle/v1/event_pb.ts';
import type { SettleCallRequestSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import { type ToolExecute, ToolExecuteSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { DispatchSchema } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { failure } from '../../core/failure.ts';
import type { AnswerOutcome } from '../outcome.ts';
import type { SdkClock } from '../ports.ts';
import { toToolResult } from '../result.ts';
import type { Tool } from '../tool.ts';
import type { TurnPlace } from './turn-result.ts';

export type CallOutcome = NonNullable<MessageInitShape<typeof SettleCallRequestSchema>['outcome']>;

/** Runs a client's own tool for a call that is open, as a worker would, and gives how it ended (6.9). */
export async function runClientTool(
  tool: Tool,
  requested: ToolCallRequested,
  call: Call,
  place: TurnPlace,
  { signal, clock }: { readonly signal: AbortSignal; readonly clock: SdkClock },
): Promise<CallOutcome | undefined> {
  const { callId, name, input } = requested;
  const execute: ToolExecute = create(ToolExecuteSchema, {
    callId,
    name,
    arguments: call.arguments,
    attempt: call.attempt === 0 ? 1 : call.attempt,
    // Two clients of one session may both run it; what they reach can tell by this.
    idempotencyKey: `${place.sessionId}/${callId}`,
    ...(input === undefined ? {} : { input }),
  });
  const dispatch = create(DispatchSchema, {
    ...place,
    trigger: { kind: { case: 'toolExecute', value: execute } },
  });
  const outcome = await tool.handle?.(dispatch, execute, {
    signal,
    now: clock.now,
    // Nobody watches a call through its own client.
    report: () => undefined,
    warn: (message) => console.warn(`spindle client: ${message}`),
  });
  return outcome === undefined ? undefined : settlementOf(outcome);
}

/** Undefined leaves the call open: it was deferred, or stopped because it has ended. */
function settlementOf(outcome: AnswerOutcome): CallOutcome | undefined {
  switch (outcome.case) {
    case 'result':
    case 'error':
      return outcome;
    case 'valueJson':
      return { case: 'result', value: toToolResult(JSON.parse(outcome.value), { structured: true }) };
    case 'toolDefer':
    case 'cancelled':
      return undefined;
    default: {
      const message =
        'A tool that a client runs cannot interrupt its call: ask the person in the tool itself.';
      return { case: 'error', value: failure('tool_error', message) };
    }
  }
}
