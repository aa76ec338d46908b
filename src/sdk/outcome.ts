import { create } from '@bufbuild/protobuf';
import type { z } from 'zod';
import { InterruptActionSchema, ToolDeferActionSchema } from '../../gen/spindle/v1/action_pb.ts';
import type { Answer } from '../../gen/spindle/v1/worker_service_pb.ts';
import { duration } from '../core/time.ts';
import { isDeferral, isInterruption, type ToolContext } from './context.ts';
import type { InvalidInput } from './invalid-input.ts';
import { jsonText } from './json.ts';
import { type Parsed, parseWith } from './parse.ts';
import { type Returned, readReturned, resultOf } from './result.ts';

/** What an answer says; never unset. */
export type AnswerOutcome = Exclude<Answer['outcome'], { case: undefined }>;

/** A tool's handler and labels, with the types of its schemas forgotten. */
export interface Handler {
  readonly schema: z.ZodType | undefined;
  /** Parses what the handler returns, where the output schema is Zod. */
  readonly output: z.ZodType | undefined;
  /** The tool declares an output schema of either kind. */
  readonly structured: boolean;
  readonly execute: (params: unknown, context: ToolContext) => unknown;
  readonly onInvalidInput: ((input: InvalidInput, context: ToolContext) => unknown) | undefined;
  readonly describeActivity: ((params: unknown) => string) | undefined;
  readonly describeCompletedActivity: ((params: unknown, result: unknown) => string) | undefined;
}

/**
 * The answer that a handler's return value stands for (3.1), with a summary for people where there is one.
 * Rejects for what is no JSON.
 */
export async function outcomeOf(
  handler: Handler,
  value: unknown,
  summary?: () => string | undefined,
): Promise<AnswerOutcome> {
  if (isDeferral(value)) {
    const { timeoutMs } = value;
    return {
      case: 'toolDefer',
      value: create(ToolDeferActionSchema, {
        ...(timeoutMs === undefined ? {} : { timeout: duration(timeoutMs) }),
      }),
    };
  }
  if (isInterruption(value)) {
    const { reason, payload, interruptId } = value;
    return {
      case: 'interrupt',
      value: create(InterruptActionSchema, {
        reason,
        interruptId: interruptId ?? '',
        payloadJson: payload === undefined ? '' : jsonText(payload, '`payload`'),
      }),
    };
  }
  const returned = await parseOutput(handler, readReturned(value));
  if (!returned.ok) return { case: 'error', value: returned.failure };
  const activity = summary?.();
  // The short form says the same in half the bytes, but has no place for a summary.
  if (returned.value.kind === 'value' && activity === undefined) {
    return { case: 'valueJson', value: jsonText(returned.value.value, 'the returned value') };
  }
  if (returned.value.kind === 'raw' && activity === undefined) {
    return { case: 'valueJson', value: returned.value.json };
  }
  const result = resultOf(returned.value, { structured: handler.structured });
  return { case: 'result', value: activity === undefined ? result : { ...result, activity } };
}

/** What is sent has been parsed, so that the wire carries what the declared schema describes. */
async function parseOutput(handler: Handler, returned: Returned): Promise<Parsed<Returned>> {
  const { output } = handler;
  const parse = (value: unknown) =>
    output === undefined
      ? ({ ok: true, value } as const)
      : parseWith(output, value, 'invalid_output', 'The result of the tool is');
  switch (returned.kind) {
    case 'nothing':
    case 'value': {
      if (returned.kind === 'nothing' && output === undefined) return { ok: true, value: returned };
      const parsed = await parse(returned.kind === 'value' ? returned.value : undefined);
      return parsed.ok ? { ok: true, value: { kind: 'value', value: parsed.value } } : parsed;
    }
    case 'fields': {
      const { structured, isError } = returned.fields;
      if (structured === undefined || isError === true) return { ok: true, value: returned };
      const parsed = await parse(structured);
      if (!parsed.ok) return parsed;
      return {
        ok: true,
        value: { kind: 'fields', fields: { ...returned.fields, structured: parsed.value } },
      };
    }
    // The engine checks it against the declared schema: parsing would change what is to go out as it is.
    case 'raw':
    case 'message':
      return { ok: true, value: returned };
  }
}
