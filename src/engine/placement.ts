import { toBinary } from '@bufbuild/protobuf';
import type { OwnTerms } from '../../gen/spindle/v1/event_pb.ts';
import type { Failure } from '../../gen/spindle/v1/result_pb.ts';
import { ArgumentRepair, type ToolInput, ToolInputSchema } from '../../gen/spindle/v1/tool_pb.ts';
import type { Call } from '../core/call.ts';
import type { Placement } from '../core/command.ts';
import { failure } from '../core/failure.ts';
import { DISPATCH_OVERHEAD_BYTES } from '../core/limits.ts';
import type { Session } from '../core/session.ts';
import type { Definition } from '../schema/definition.ts';
import type { Schemas } from '../schema/schemas.ts';
import { inputFailure } from './dispatch.ts';
import type { EngineOptions } from './engine.ts';
import { type ArgumentTerms, argumentTerms, PLAIN_TERMS } from './loop/argument-terms.ts';
import type { Reservation } from './ports.ts';
import { termsOf } from './terms.ts';

/** Checks a call's arguments under a definition; repair only where the tool, or else the agent, asks for it (1.7). */
export function checkInput(
  schemas: Schemas,
  definition: Definition | undefined,
  text: string,
  { repair, stoppedForLength, nullForAbsent }: ArgumentTerms = PLAIN_TERMS,
): ToolInput {
  const own = definition?.tool.argumentRepair ?? ArgumentRepair.UNSPECIFIED;
  return schemas.checkArguments(definition, text, {
    repair: own === ArgumentRepair.UNSPECIFIED ? repair : own === ArgumentRepair.BOUNDED,
    stoppedForLength,
    nullForAbsent,
  });
}

/**
 * A reserved slot as the core takes it: with a new verdict where the worker serves another definition (5.11), and
 * with what that definition says about repeats and time where there was none when the tool was called.
 */
export function placementOf(
  reservation: Reservation,
  call: Pick<Call, 'callId' | 'name' | 'arguments' | 'toolDigest'> & {
    readonly ownTerms?: OwnTerms | undefined;
  },
  { schemas, policies }: Pick<EngineOptions, 'schemas' | 'policies'>,
  session: Session | undefined,
): Placement {
  const { leaseToken, instanceId, streamNumber, workerName, definition } = reservation;
  const placed = { leaseToken, instanceId, streamNumber, workerName };
  if (definition.digest === call.toolDigest) return { ...placed, recheck: undefined };
  const terms = session === undefined ? PLAIN_TERMS : argumentTerms(session, call);
  const input = checkInput(schemas, definition, call.arguments, terms);
  const recheck = {
    toolDigest: definition.digest,
    input,
    inputFailure: inputFailure(call.name, input),
    terms: call.ownTerms && termsOf(definition.tool, call.ownTerms, policies),
  };
  return { ...placed, recheck };
}

/**
 * A dispatch that its worker could not read is never written; that call alone fails (3.4). Beside the arguments it
 * carries their verdict, and what earlier dispatches of the call left.
 */
export function tooLarge(
  reservation: Reservation,
  call: Pick<Call, 'name' | 'arguments' | 'input'> & Partial<Pick<Call, 'checkpoint' | 'resumed'>>,
  { recheck }: Placement,
): Failure | undefined {
  const room =
    reservation.maxMessageBytes - DISPATCH_OVERHEAD_BYTES - verdictBytes(recheck?.input ?? call.input);
  const left = (call.checkpoint?.byteLength ?? 0) + Buffer.byteLength(call.resumed?.payloadJson ?? '');
  // Three bytes of UTF-8 for each code unit at most: short arguments need not be measured.
  if (call.arguments.length * 3 <= room - left) return undefined;
  if (Buffer.byteLength(call.arguments) <= room - left) return undefined;
  return failure(
    'request_too_large',
    `The arguments of ${call.name} are larger than its worker reads (${reservation.maxMessageBytes} bytes a message). Send less, or pass a reference.`,
  );
}

function verdictBytes(input: ToolInput | undefined): number {
  const isPlain = input?.status.case === 'valid' && input.status.value.repairedJson === undefined;
  return input === undefined || isPlain ? 0 : toBinary(ToolInputSchema, input).byteLength;
}
