import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import { type Evidence, instanceOf, type Report } from './evidence.ts';

interface StreamState {
  readonly worker: string;
  instanceId: string;
  number: number;
  welcomed: boolean;
  beating: boolean;
  drained: boolean;
  sentAway: boolean;
  replaced: boolean;
  sequence: number;
}

/** Whether an event is the record of an answer. */
function isAnswer({ kind }: SessionEvent): boolean {
  switch (kind.case) {
    case 'toolCallFinished':
    case 'toolCallDeferred':
    case 'interruptRaised':
    case 'toolCallLateAnswer':
      return true;
    case 'toolCallAttemptFailed':
      return kind.value.answered;
    default:
      return false;
  }
}

/** What went over the wire, in order: 4.3, 5.1, 5.3, 5.5, 5.7, 5.9, 7.1. */
export function checkStreams(evidence: Evidence, report: Report): void {
  const streams = new Map<number, StreamState>();
  /** The newest welcomed stream of each worker's process. */
  const newest = new Map<string, number>();
  /** What is durable by now. */
  const bound = new Map<string, { readonly instanceId: string; readonly number: number }>();
  const answered = new Map<string, 'own' | 'late'>();
  const ended = new Set<string>();
  const written = new Set<string>();
  /** Deliveries of triggers, each with the decision that it is for; and what is durable of decisions by now. */
  const decisions = new Map<string, string>();
  const asked = new Set<string>();
  const decided = new Set<string>();
  const refused = new Set<string>();

  for (const fact of evidence.facts) {
    if (fact.kind === 'committed') {
      for (const event of fact.events) {
        const token = event.journal?.leaseToken ?? '';
        const { kind } = event;
        if (kind.case === 'decisionRequested') asked.add(`${fact.sessionId} ${kind.value.decisionId}`);
        if (kind.case === 'decisionRecorded') decided.add(`${fact.sessionId} ${kind.value.decisionId}`);
        if (kind.case === 'decisionRefused') refused.add(`${fact.sessionId} ${kind.value.decisionId}`);
        if (event.kind.case === 'toolCallFinished') ended.add(fact.sessionId);
        if (event.kind.case === 'toolCallDispatched')
          bound.set(token, {
            instanceId: instanceOf(event),
            number: event.journal?.workerStreamNumber ?? 0,
          });
        else if (token !== '' && isAnswer(event))
          answered.set(token, event.kind.case === 'toolCallLateAnswer' ? 'late' : 'own');
      }
    } else if (fact.kind === 'engine_read' || fact.kind === 'engine_wrote') {
      const stream = streams.get(fact.stream) ?? fresh(fact.worker);
      streams.set(fact.stream, stream);
      if (fact.kind === 'engine_read') read(stream, fact.frame);
      else write(stream, fact.stream, fact.frame, fact.time);
    }
  }

  function read(
    stream: StreamState,
    frame: Extract<(typeof evidence.facts)[number], { kind: 'engine_read' }>['frame'],
  ): void {
    if (frame.case === 'hello') {
      stream.instanceId = frame.value.instanceId;
      stream.number = frame.value.streamNumber;
    }
    if (frame.case === 'heartbeat' && stream.welcomed) stream.beating = true;
  }

  function write(
    stream: StreamState,
    number: number,
    frame: Extract<(typeof evidence.facts)[number], { kind: 'engine_wrote' }>['frame'],
    time: number,
  ): void {
    const where = `${stream.worker} on stream ${stream.number}`;
    if (frame.case === 'welcome') {
      stream.welcomed = true;
      const older = streams.get(newest.get(stream.worker) ?? -1);
      if (older !== undefined) older.replaced = true;
      newest.set(stream.worker, number);
      return;
    }
    if (frame.case === 'goAway') {
      stream.sentAway = true;
      return;
    }
    if (!stream.welcomed) report('5.1', `${frame.case} before the welcome to ${where}`, time);
    if (stream.replaced) report('5.7', `${frame.case} to ${where}, which a newer one has replaced`, time);
    if (frame.case === 'drainReply') stream.drained = true;
    if (frame.case === 'acknowledge') acknowledge(frame.value.leaseToken, frame.value.verdict, where, time);
    if (frame.case !== 'dispatch') return;
    const { leaseToken, sequence, decisionId, sessionId } = frame.value;
    const binding = bound.get(leaseToken);
    if (decisionId !== '') {
      const decision = `${sessionId} ${decisionId}`;
      decisions.set(leaseToken, decision);
      if (!asked.has(decision)) report('7.1', `${decision} was asked for before that was durable`, time);
      if (decided.has(decision)) report('5.13', `${decision} was asked for after it was decided`, time);
    } else if (binding === undefined)
      report('7.1', `dispatch ${leaseToken} to ${where} before it was durable`, time);
    else if (binding.instanceId !== stream.instanceId || binding.number !== stream.number)
      report(
        '4.3',
        `dispatch ${leaseToken} to ${where}, but it is bound to ${binding.instanceId} ${binding.number}`,
        time,
      );
    if (written.has(leaseToken)) report('4.3', `dispatch ${leaseToken} written again, to ${where}`, time);
    written.add(leaseToken);
    if (!stream.beating) report('5.1', `dispatch to ${where} before its first heartbeat`, time);
    if (stream.drained) report('5.9', `dispatch to ${where} after its drain_reply`, time);
    if (stream.sentAway) report('5.3', `dispatch to ${where} after its go-away`, time);
    if (sequence !== stream.sequence + 1)
      report('5.6', `dispatch ${sequence} to ${where} after ${stream.sequence}`, time);
    stream.sequence = sequence;
  }

  function acknowledge(token: string, verdict: AnswerVerdict, where: string, time: number): void {
    const decision = decisions.get(token);
    if (decision !== undefined) {
      if (verdict === AnswerVerdict.RECORDED && !decided.has(decision))
        report('7.1', `${where} was told that ${decision} is on record`, time);
      if (verdict === AnswerVerdict.REFUSED && !refused.has(decision))
        report('7.1', `${where} was told that ${decision} is refused, and no record says so`, time);
      return;
    }
    const record = answered.get(token);
    const session = token.slice(token.indexOf('/') + 1);
    if (verdict === AnswerVerdict.RECORDED || verdict === AnswerVerdict.DUPLICATE) {
      if (record !== 'own') report('7.1', `${where} was told that its answer to ${token} is on record`, time);
    } else if (verdict === AnswerVerdict.REFUSED) {
      if (record !== 'own')
        report(
          '7.1',
          `${where} was told that its answer to ${token} was refused, and no record says so`,
          time,
        );
    } else if (verdict === AnswerVerdict.STALE) {
      const known = bound.get(token);
      const foreign = known !== undefined && where.indexOf(known.instanceId) < 0;
      if (record === undefined && !ended.has(session) && known !== undefined && !foreign)
        report('4.5', `${where} was told that its answer to ${token} is stale, and no record says why`, time);
    }
  }

  checkDuties(evidence, report);
}

function fresh(worker: string): StreamState {
  return {
    worker,
    instanceId: '',
    number: 0,
    welcomed: false,
    beating: false,
    drained: false,
    sentAway: false,
    replaced: false,
    sequence: 0,
  };
}

/** 5.7: what a living worker has answered gets a verdict; 4.4: nothing runs for ever. */
function checkDuties({ facts, runs, workers }: Evidence, report: Report): void {
  const verdicts = new Set<string>();
  for (const fact of facts) {
    if (fact.kind === 'worker_read' && fact.frame.case === 'acknowledge')
      verdicts.add(`${fact.worker} ${fact.frame.value.leaseToken}`);
  }
  for (const { worker, leaseToken, callId, end } of runs) {
    if (workers.get(worker)?.over !== undefined) continue;
    if (end === undefined) report('4.4', `${callId}: still runs at ${worker}`);
    else if (!verdicts.has(`${worker} ${leaseToken}`))
      report('5.7', `${callId}: the answer of ${worker} to ${leaseToken} got no verdict`);
  }
  for (const fact of facts) {
    if (fact.kind !== 'decision_said' || fact.ending.kind !== 'answered') continue;
    const { worker, leaseToken, sessionId, decisionId } = fact;
    if (workers.get(worker)?.over === undefined && !verdicts.has(`${worker} ${leaseToken}`))
      report('5.7', `${sessionId} ${decisionId}: the answer of ${worker} to ${leaseToken} got no verdict`);
  }
}
