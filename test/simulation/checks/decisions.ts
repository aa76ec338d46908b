import type { Evidence, Recorded, Report } from './evidence.ts';
import { occurredAt, type TalkEvidence } from './talk-evidence.ts';

/** In milliseconds, and deliveries (4.1). */
const TOTAL_MS = 300_000;
const MAX_DELIVERIES = 10;
/** Decisions that break a rule, before nobody is asked any more (6.16). */
const MAX_REFUSALS = 10;

/** Which events call for a decision (the triggers of the contract). */
const CAUSES: Readonly<Record<string, readonly string[]>> = {
  sessionCreated: ['session.start'],
  turnStarted: ['client.messages'],
  modelCallFinished: ['model.finished'],
  toolCallFinished: ['tool.finished', 'subagent.finished'],
  interruptResumed: ['interrupt.resumed'],
  decisionRecorded: ['turn.finished'],
};

interface Asked {
  readonly decisionId: string;
  readonly at: Recorded;
  readonly cause: number;
  refusals: number;
}

/** Decisions are made one at a time, each once, by whom they were asked for: 5.13, 6.1, 6.11, 6.16. */
export function checkDecisions(
  evidence: Evidence,
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  /** Answers that workers gave, and deliveries, by session and decision. */
  const said = new Map<string, { readonly worker: string; readonly index: number }[]>();
  const deliveries = new Map<string, number>();
  evidence.facts.forEach((fact, index) => {
    if (fact.kind === 'decision_said' && fact.ending.kind === 'answered') {
      const name = `${fact.sessionId} ${fact.decisionId}`;
      said.set(name, [...(said.get(name) ?? []), { worker: fact.worker, index }]);
    }
    if (
      fact.kind === 'engine_wrote' &&
      fact.frame.case === 'dispatch' &&
      fact.frame.value.decisionId !== ''
    ) {
      const name = `${fact.frame.value.sessionId} ${fact.frame.value.decisionId}`;
      deliveries.set(name, (deliveries.get(name) ?? 0) + 1);
    }
  });
  for (const talk of talks) checkTalk(talk);

  function checkTalk({ sessionId, records }: TalkEvidence): void {
    const recorded = new Set<string>();
    const causes = new Set<number>();
    const byDelivery = new Map<number, Recorded>();
    let asked: Asked | undefined;
    let paused: { readonly id: string; readonly by: Recorded } | undefined;
    for (const record of records) {
      const { event, time, index } = record;
      const { kind, sequence } = event;
      const where = `${sessionId}: event ${sequence}`;
      byDelivery.set(sequence, record);
      switch (kind.case) {
        case 'decisionRequested': {
          const { decisionId, trigger, causeSequence } = kind.value;
          if (asked !== undefined)
            report('6.1', `${where}: ${decisionId} is asked for while ${asked.decisionId} is`, time);
          if (causes.has(causeSequence))
            report('6.1', `${where}: event ${causeSequence} is decided again`, time);
          const cause = byDelivery.get(causeSequence)?.event.kind.case ?? '';
          if (CAUSES[cause]?.includes(trigger) !== true)
            report('6.1', `${where}: ${trigger} is asked about ${cause} ${causeSequence}`, time);
          asked = { decisionId, at: record, cause: causeSequence, refusals: 0 };
          cover(`asked ${trigger}`);
          break;
        }
        case 'decisionRefused':
          if (asked?.decisionId !== kind.value.decisionId)
            report('6.16', `${where}: ${kind.value.decisionId} is refused, and was not asked for`, time);
          else asked.refusals += 1;
          break;
        case 'decisionRecorded': {
          const { decisionId, workerName } = kind.value;
          if (recorded.has(decisionId)) report('5.13', `${where}: ${decisionId} is recorded again`, time);
          recorded.add(decisionId);
          // The decision that pauses the turn stands behind what it raised, in the same append.
          if (paused !== undefined && paused.by.index !== index)
            report('6.11', `${where}: decided while ${paused.id} pauses the turn`, time);
          if (asked === undefined) {
            if (workerName !== '')
              report('5.13', `${where}: ${workerName} decided what nobody had asked for`, time);
            break;
          }
          if (asked.decisionId !== decisionId)
            report(
              '5.13',
              `${where}: ${decisionId} is recorded while ${asked.decisionId} is asked for`,
              time,
            );
          causes.add(asked.cause);
          const name = `${sessionId} ${decisionId}`;
          if (workerName === '') {
            const waited = occurredAt(event) - occurredAt(asked.at.event);
            const isGivenUp =
              waited >= TOTAL_MS - 1 ||
              asked.refusals >= MAX_REFUSALS ||
              (deliveries.get(name) ?? 0) >= MAX_DELIVERIES;
            if (!isGivenUp)
              report(
                '5.13',
                `${where}: the proposal of ${decisionId} applied while a worker was asked`,
                time,
              );
            cover('proposal applied for a decider that was gone');
          } else {
            const answers = said.get(name) ?? [];
            if (!answers.some((one) => one.worker === workerName && one.index < index))
              report('5.13', `${where}: ${workerName} has not decided ${decisionId}`, time);
            if (answers.length > 1) cover('decision answered by more than one delivery');
            cover('decision of a worker');
          }
          asked = undefined;
          break;
        }
        case 'interruptRaised':
          if (kind.value.callId === '') {
            paused = { id: kind.value.interruptId, by: record };
            cover('turn paused');
          }
          break;
        case 'interruptResumed':
          if (kind.value.interruptId === paused?.id) paused = undefined;
          break;
        case 'turnEnded':
          // What of a turn was not decided is not decided any more; a session's start is.
          if (asked !== undefined && byDelivery.get(asked.cause)?.event.turnId === event.turnId)
            asked = undefined;
          paused = undefined;
          break;
        case 'modelCallRequested':
          if (paused !== undefined)
            report('6.11', `${where}: a model call while ${paused.id} pauses the turn`, time);
          break;
        default:
          break;
      }
    }
  }
}
