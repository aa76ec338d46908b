import { ArgumentRepair } from '../../../gen/spindle/v1/tool_pb.ts';
import type { Call } from '../../core/call.ts';
import { callsIn, writesNullForAbsent } from '../../core/loop/messages.ts';
import type { Session } from '../../core/session.ts';

/** How the arguments of a call are to be read, beyond what its tool says. */
export interface ArgumentTerms {
  /** The agent wants them repaired, where its tool says nothing (1.7). */
  readonly repair: boolean;
  /** Its response stopped for length within them, perhaps (1.8). */
  readonly stoppedForLength: boolean;
  /** The model was told to write null for what it leaves out (2.6). */
  readonly nullForAbsent: boolean;
}

/** Of a call that no model made. */
export const PLAIN_TERMS: ArgumentTerms = { repair: false, stoppedForLength: false, nullForAbsent: false };

/** What the record says of a call of a model: it holds for every check of it, under whichever definition (5.11). */
export function argumentTerms(
  { conversation }: Session,
  { callId, name }: Pick<Call, 'callId' | 'name'>,
): ArgumentTerms {
  if (conversation === undefined) return PLAIN_TERMS;
  const { messages, agent, turn } = conversation;
  const message = messages.findLast((each) => callsIn(each).some((call) => call.callId === callId));
  const calls = message === undefined ? [] : callsIn(message);
  // `call_tool` carries the arguments of another tool, whose form the model was not given.
  const own = calls.find((call) => call.callId === callId)?.name === name;
  return {
    repair: agent?.argumentRepair === ArgumentRepair.BOUNDED,
    stoppedForLength: turn?.cutShort === true && calls.at(-1)?.callId === callId,
    nullForAbsent: own && writesNullForAbsent(messages, message?.id ?? '', callId),
  };
}
