import type { InterruptResumed } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Evidence, Report } from './evidence.ts';
import type { TalkEvidence } from './talk-evidence.ts';

interface Waiting {
  readonly callId: string;
  readonly raisedByHandler: boolean;
  readonly raised: number;
  answer: { readonly value: InterruptResumed; readonly index: number } | undefined;
}

/** What waits for a person: 6.11. */
export function checkInterrupts(
  evidence: Evidence,
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  const interrupts = new Map<string, Map<string, Waiting>>();
  /** Leases, by the answer that they have to carry. */
  const carries = new Map<string, InterruptResumed | undefined>();
  for (const { sessionId, records } of talks) {
    const own = new Map<string, Waiting>();
    interrupts.set(sessionId, own);
    /** The interrupt that holds a call back, and the answer that its attempt has got. */
    const holds = new Map<string, string>();
    const answers = new Map<string, InterruptResumed>();
    const denied = new Set<string>();
    for (const { event, time, index } of records) {
      const { kind, sequence, journal } = event;
      const where = `${sessionId}: event ${sequence}`;
      switch (kind.case) {
        case 'interruptRaised': {
          const { interruptId, callId } = kind.value;
          if (interruptId === '' || own.has(interruptId))
            report('6.11', `${where}: interrupt ${interruptId} is raised again`, time);
          const raisedByHandler = (journal?.leaseToken ?? '') !== '';
          own.set(interruptId, { callId, raisedByHandler, raised: index, answer: undefined });
          if (callId !== '') holds.set(callId, interruptId);
          cover(
            raisedByHandler
              ? 'interrupt of a handler'
              : callId === ''
                ? 'interrupt of a turn'
                : 'interrupt of a call',
          );
          break;
        }
        case 'interruptResumed': {
          const { interruptId, denyReason } = kind.value;
          const waiting = own.get(interruptId);
          if (waiting === undefined || waiting.answer !== undefined) {
            report('6.11', `${where}: ${interruptId} is answered twice, or was never raised`, time);
            break;
          }
          waiting.answer = { value: kind.value, index };
          holds.delete(waiting.callId);
          if (denyReason !== undefined && waiting.callId !== '') denied.add(waiting.callId);
          else if (waiting.raisedByHandler) answers.set(waiting.callId, kind.value);
          cover(denyReason === undefined ? 'interrupt approved' : 'interrupt denied');
          break;
        }
        case 'toolCallDispatched': {
          const { callId } = kind.value;
          if (holds.has(callId))
            report('6.11', `${where}: ${callId} is dispatched, and waits for ${holds.get(callId)}`, time);
          if (denied.has(callId)) report('6.11', `${where}: ${callId} is dispatched, and was denied`, time);
          carries.set(journal?.leaseToken ?? '', answers.get(callId));
          break;
        }
        case 'toolCallAttemptFailed':
          answers.delete(kind.value.callId);
          break;
        case 'toolCallFinished': {
          const { callId, outcome } = kind.value;
          holds.delete(callId);
          if (denied.has(callId) && (outcome.case !== 'error' || !MAY_END_DENIED.has(outcome.value.code)))
            report('6.11', `${where}: ${callId} was denied, and ended otherwise`, time);
          break;
        }
        default:
          break;
      }
    }
  }

  for (const fact of evidence.facts) {
    if (fact.kind === 'engine_wrote' && fact.frame.case === 'dispatch') {
      const { leaseToken, trigger } = fact.frame.value;
      const due = carries.get(leaseToken);
      if (trigger?.kind.case !== 'toolExecute' || due === undefined) continue;
      const { resumed } = trigger.kind.value;
      if (resumed?.interruptId !== due.interruptId || resumed.payloadJson !== due.payloadJson)
        report('6.11', `lease ${leaseToken} runs without the answer to ${due.interruptId}`, fact.time);
      cover('call resumed with its answer');
    }
    if (fact.kind !== 'resumed') continue;
    const waiting = interrupts.get(fact.sessionId)?.get(fact.interruptId);
    if (fact.already) {
      cover('interrupt answered again');
      continue;
    }
    const said = waiting?.answer?.value;
    if (said?.payloadJson !== fact.payloadJson || (said.denyReason !== undefined) !== fact.denied)
      report(
        '6.11',
        `${fact.interruptId} was answered with ${fact.payloadJson}, and the log says otherwise`,
        fact.time,
      );
  }
}

/** A turn or a decision may end a denied call first. */
const MAY_END_DENIED: ReadonlySet<string> = new Set(['denied', 'cancelled']);
