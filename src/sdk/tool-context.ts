import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ProgressSchema } from '../../gen/spindle/v1/progress_pb.ts';
import type { ToolExecute } from '../../gen/spindle/v1/trigger_pb.ts';
import type { Dispatch } from '../../gen/spindle/v1/worker_service_pb.ts';
import { MAX_CHECKPOINT_BYTES } from '../core/limits.ts';
import { type Instant, millisOf } from '../core/time.ts';
import { blockOf } from './block.ts';
import { bytesOf } from './content.ts';
import { deferral, interruption, type ProgressReport, type ToolContext } from './context.ts';
import { argumentsJsonOf, verdictOf } from './invalid-input.ts';
import type { JsonValue } from './json.ts';

/** A report on a dispatch, without the lease that the worker adds. */
export type ProgressFields = Omit<MessageInitShape<typeof ProgressSchema>, 'leaseToken' | '$typeName'>;

/** What a handler's surroundings give to one dispatch. */
export interface HandlerHooks {
  readonly signal: AbortSignal;
  readonly now: () => Instant;
  readonly report: (fields: ProgressFields) => void;
  /** Takes what went wrong beside the call, such as a label that could not be made (6.13). */
  readonly warn: (message: string) => void;
}

/** The context that a dispatch gives its handler. */
export function contextOf(dispatch: Dispatch, execute: ToolExecute, hooks: HandlerHooks): ToolContext {
  const left = execute.timeRemaining;
  let furthest = Number.NEGATIVE_INFINITY;
  const expires = left === undefined ? undefined : hooks.now() + millisOf(left);
  return {
    callId: execute.callId,
    toolName: execute.name,
    attempt: execute.attempt,
    idempotencyKey: execute.idempotencyKey,
    rawArguments: execute.arguments,
    argumentsJson: argumentsJsonOf(execute),
    input: verdictOf(execute.input),
    signal: hooks.signal,
    deadline: expires === undefined ? undefined : new Date(expires),
    timeRemaining: () =>
      expires === undefined ? Number.POSITIVE_INFINITY : Math.max(0, expires - hooks.now()),
    progress(report) {
      const fields = fieldsOf(report);
      // What is done never goes back (Progress.completed): parallel parts of a handler may report out of order.
      if (report.completed !== undefined) fields.completed = furthest = Math.max(furthest, report.completed);
      hooks.report(fields);
    },
    checkpoint: execute.checkpoint.length === 0 ? undefined : execute.checkpoint,
    defer: deferral,
    interrupt: interruption,
    resumed:
      execute.resumed === undefined
        ? undefined
        : {
            interruptId: execute.resumed.interruptId,
            payload: payloadOf(execute.resumed.payloadJson),
          },
    caller: dispatch.caller,
    sessionId: dispatch.sessionId,
    turnId: dispatch.turnId,
    agentId: dispatch.agentId,
    traceContext: dispatch.traceContext,
  };
}

/** The engine passes on what a person's client sent; it has made sure that this is JSON. */
function payloadOf(json: string): JsonValue | undefined {
  return json === '' ? undefined : JSON.parse(json);
}

/** Throws for what the engine would have to drop, so that the author hears of it. */
function fieldsOf(report: ProgressReport): ProgressFields {
  const { completed, total, activity, partial, checkpoint } = report;
  if (checkpoint !== undefined && checkpoint.length > MAX_CHECKPOINT_BYTES) {
    throw new Error(
      `a checkpoint has ${checkpoint.length} bytes, and at most ${MAX_CHECKPOINT_BYTES} are kept: store the rest elsewhere`,
    );
  }
  const blocks = (partial ?? []).map((value, index) => {
    const block = blockOf(value);
    if (block === undefined) throw new Error(`partial[${index}] is no content block: use text(), image() …`);
    return block;
  });
  return {
    ...(completed === undefined ? {} : { completed }),
    ...(total === undefined ? {} : { total }),
    ...(activity === undefined ? {} : { activity }),
    ...(partial === undefined ? {} : { partial: blocks }),
    // A copy: the handler may go on writing into its own buffer.
    ...(checkpoint === undefined ? {} : { checkpoint: bytesOf(checkpoint.slice()) }),
  };
}
