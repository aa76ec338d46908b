import { originOfCall, originOfTurn } from '../core/activity.ts';
import type { Call } from '../core/call.ts';
import type { Session } from '../core/session.ts';
import type { Recorder, SessionKey } from './ports.ts';

export interface TracePlace {
  readonly recorder?: Recorder | undefined;
  readonly key: SessionKey;
  readonly session: Session;
}

/**
 * The trace context for whoever does the work of an activity of the running turn, or of a direct call (8.2).
 *
 * @param call of a direct call's session; a conversation's calls are in the trace of their turn
 */
export function traceContextFor(
  { recorder, key, session }: TracePlace,
  activityName: string,
  call?: Call,
): Readonly<Record<string, string>> {
  const turn = session.conversation?.turn;
  const given = turn?.origin.traceContext ?? call?.traceContext ?? {};
  if (recorder?.contextOf === undefined) return given;
  if (turn !== undefined)
    return recorder.contextOf(key, () => originOfTurn(key, turn.turnId, given), activityName);
  return call === undefined
    ? given
    : recorder.contextOf(key, () => originOfCall(key, call.requestedAt, given), activityName);
}
