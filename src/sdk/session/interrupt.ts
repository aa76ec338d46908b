import type { OpenItem } from '../../../gen/spindle/v1/session_service_pb.ts';
import { type JsonValue, jsonText } from '../json.ts';
import { refuseUnknown } from '../known-members.ts';

/** What a person is asked (6.11). */
export interface Interrupt {
  readonly interruptId: string;
  /** The call that waits; empty where the turn does. */
  readonly callId: string;
  /** The tool of that call. */
  readonly toolName: string;
  /** Why, for people and programs: confirm, say. */
  readonly reason: string;
  /** What the person needs to see. */
  readonly payload: JsonValue | undefined;
  readonly sessionId: string;
  readonly turnId: string;
  /** Aborted when the answer is not needed any more. */
  readonly signal: AbortSignal;
}

/** The answer to an interrupt: what goes on with the call or the turn, or why it does not. */
export type InterruptAnswer = { readonly resume: JsonValue | undefined } | { readonly deny: string };

/** Answers an interrupt. Returning nothing leaves it open, for somebody else to answer. */
export type InterruptHandler = (
  interrupt: Interrupt,
) => InterruptAnswer | undefined | Promise<InterruptAnswer | undefined>;

/** The fields of the request that gives an answer. Throws an Error where it gives none, or both. */
export function resumption(answer: InterruptAnswer): { payloadJson: string; denyReason?: string } {
  refuseUnknown(answer, { resume: true, deny: true }, 'the answer to an interrupt');
  if ('resume' in answer === 'deny' in answer) {
    throw new Error('an interrupt is answered with { resume: value } or with { deny: reason }');
  }
  if ('deny' in answer) return { payloadJson: '', denyReason: answer.deny };
  return { payloadJson: answer.resume === undefined ? '' : jsonText(answer.resume, 'the answer') };
}

/** What a person is asked, by what is open. */
export function interruptOf(
  item: OpenItem,
  reason: string,
  place: Pick<Interrupt, 'sessionId' | 'turnId' | 'signal'>,
): Interrupt {
  const { id: interruptId, callId, name: toolName, payloadJson } = item;
  const payload: JsonValue | undefined = payloadJson === '' ? undefined : JSON.parse(payloadJson);
  return { interruptId, callId, toolName, reason, payload, ...place };
}
