import type { Evidence, Report } from './evidence.ts';
import { occurredAt, type TalkEvidence } from './talk-evidence.ts';

interface TurnStanding {
  queuedAt: number | undefined;
  startedAt: number | undefined;
  endedAt: number | undefined;
  cancelled: boolean;
}

/** Events that only a running turn can lead to. */
const OF_A_TURN: ReadonlySet<string> = new Set([
  'iterationStarted',
  'modelCallRequested',
  'modelCallFinished',
  'toolCallRequested',
  'toolCallDispatched',
  'toolCallFinished',
  'interruptRaised',
]);

/** What the log of a conversation says of its turns: 6.1, 6.14, 7.1, 7.2, 7.4. */
export function checkTurns(
  { facts }: Evidence,
  talks: readonly TalkEvidence[],
  report: Report,
  cover: (what: string) => void,
): void {
  const turns = new Map<string, Map<string, TurnStanding>>();
  for (const { sessionId, records } of talks) {
    const standings = new Map<string, TurnStanding>();
    turns.set(sessionId, standings);
    const queue: string[] = [];
    let running = '';
    let last = 0;
    if (records[1]?.event.kind.case !== 'agentUpdated' || records[1].index !== records[0]?.index)
      report('6.1', `${sessionId}: was created without its configuration`, records[0]?.time);
    records.forEach(({ event, time, index }, place) => {
      const where = `${sessionId}: event ${event.sequence}`;
      if (event.sequence !== place + 1) report('7.4', `${where} at place ${place + 1}`, time);
      if (occurredAt(event) < last) report('7.2', `${where}: occurred_at goes back`, time);
      last = Math.max(last, occurredAt(event));
      const { kind, turnId } = event;
      cover(`event ${kind.case ?? 'unknown'}`);
      const standing = standings.get(turnId);
      switch (kind.case) {
        case 'turnQueued':
          if (standing !== undefined) report('6.14', `${where}: turn ${turnId} is queued again`, time);
          standings.set(turnId, {
            queuedAt: index,
            startedAt: undefined,
            endedAt: undefined,
            cancelled: false,
          });
          queue.push(turnId);
          break;
        case 'turnStarted': {
          if (running !== '') report('6.14', `${where}: ${turnId} starts while ${running} runs`, time);
          if (standing?.startedAt !== undefined || standing?.endedAt !== undefined)
            report('6.14', `${where}: turn ${turnId} starts again`, time);
          if (standing !== undefined && queue[0] !== turnId)
            report('6.14', `${where}: ${turnId} starts before ${queue[0]}`, time);
          if (standing === undefined && queue.length > 0)
            report('6.14', `${where}: ${turnId} starts before ${queue[0]}, which waits`, time);
          if (standing !== undefined) cover('queued turn started');
          queue.shift();
          standings.set(turnId, {
            queuedAt: standing?.queuedAt,
            startedAt: index,
            endedAt: undefined,
            cancelled: false,
          });
          running = turnId;
          break;
        }
        case 'turnEnded': {
          if (standing === undefined || standing.endedAt !== undefined) {
            report('6.14', `${where}: turn ${turnId} ends without a beginning, or twice`, time);
            break;
          }
          standing.endedAt = index;
          standing.cancelled = kind.value.outcome.case === 'cancelledReason';
          cover(
            `turn ${kind.value.outcome.case === 'failed' ? kind.value.outcome.value.code : kind.value.outcome.case}`,
          );
          if (kind.value.outcome.case === 'failed' && kind.value.outcome.value.code === 'internal')
            report('4.8', `${where}: turn ${turnId} fails within the engine`, time);
          if (running === turnId) running = '';
          else {
            cover('queued turn cancelled');
            queue.splice(queue.indexOf(turnId), 1);
            if (standing.startedAt !== undefined || !standing.cancelled)
              report('6.14', `${where}: turn ${turnId} ends, and ${running} runs`, time);
          }
          break;
        }
        default:
          if (OF_A_TURN.has(kind.case ?? '') && (running === '' || turnId !== running))
            report('6.1', `${where}: ${kind.case} of turn ${turnId}, and ${running || 'none'} runs`, time);
      }
    });
    for (const [turnId, { endedAt }] of standings)
      if (endedAt === undefined) report('6.1', `${sessionId}: turn ${turnId} has no end`);
  }

  facts.forEach((fact, index) => {
    const standing =
      'turnId' in fact && 'sessionId' in fact ? turns.get(fact.sessionId)?.get(fact.turnId) : undefined;
    switch (fact.kind) {
      case 'turn_accepted': {
        const since = standing?.queuedAt ?? standing?.startedAt;
        if (since === undefined || since > index)
          report('7.1', `turn ${fact.turnId} was taken before that was durable`, fact.time);
        if (fact.existing) cover('turn id sent again');
        break;
      }
      case 'turn_refused':
        if (!MAY_REFUSE.has(fact.reason))
          report('6.14', `turn ${fact.turnId} was refused with ${fact.reason}`, fact.time);
        if (fact.reason === 'turn_already_active') cover('turn refused: turn_already_active');
        break;
      case 'turn_missing':
        report('7.1', `turn ${fact.turnId} was taken, and is not there`, fact.time);
        break;
      case 'turn_cancelled':
        if (fact.turnId === '') break;
        if (standing?.endedAt === undefined || standing.endedAt > index || !standing.cancelled)
          report('4.10', `turn ${fact.turnId} was stopped, and its log does not say so`, fact.time);
        break;
      case 'client_knows':
        if (standing?.endedAt === undefined || standing.endedAt > index)
          report('7.1', `the client of ${fact.turnId} knew its end before that was durable`, fact.time);
        break;
      default:
        break;
    }
  });
}

const MAY_REFUSE: ReadonlySet<string> = new Set([
  'turn_already_active',
  'overloaded',
  'shutting_down',
  'journal_unavailable',
  'session_moved',
]);
