import type { ToolResult } from '../../../gen/spindle/v1/result_pb.ts';
import type { CallEvidence, Evidence, Recorded, Report } from './evidence.ts';
import { type Expectation, expectationOf, millis } from './expectation.ts';
import { textOf } from './runs.ts';

/** Where a call stands, by the diagram of section 4. */
type Place = 'nowhere' | 'waiting' | 'dispatched' | 'open' | 'interrupted' | 'finished';

/** Which event may follow where (section 4), and where it leads. */
const MOVES: Readonly<Record<string, { readonly from: readonly Place[]; readonly to: Place | 'same' }>> = {
  toolCallRequested: { from: ['nowhere'], to: 'waiting' },
  toolCallDispatched: { from: ['waiting'], to: 'dispatched' },
  toolCallRequeued: { from: ['dispatched', 'interrupted'], to: 'waiting' },
  toolCallCheckpointed: { from: ['dispatched'], to: 'same' },
  toolCallDeferred: { from: ['dispatched'], to: 'open' },
  toolCallAttemptFailed: { from: ['waiting', 'dispatched', 'open'], to: 'waiting' },
  toolCallFinished: { from: ['waiting', 'dispatched', 'open', 'interrupted'], to: 'finished' },
  toolCallLateAnswer: { from: ['waiting', 'dispatched', 'open', 'interrupted', 'finished'], to: 'same' },
  interruptRaised: { from: ['dispatched'], to: 'interrupted' },
};

/** A return that ends the attempt as well (4.3). */
const MAX_RETURNS = 16;

/** What the final log of each call may look like: 4.2 to 4.6, 7.1, 7.2. */
export function checkLogs(evidence: Evidence, report: Report, cover: (what: string) => void): void {
  for (const call of evidence.calls.values()) {
    if (!call.isDirect) continue;
    checkSequence(call, report);
    checkMoves(call, report, cover);
    const expectation = expectationOf(call);
    if (expectation !== undefined) checkPolicy(call, expectation, report);
  }
}

function checkSequence({ callId, records }: CallEvidence, report: Report): void {
  let last = 0;
  records.forEach(({ event, time }, index) => {
    if (event.sequence !== index + 1)
      report('7.4', `${callId}: event ${event.sequence} at place ${index + 1}`, time);
    const at = occurredAt(event);
    if (at < last) report('7.2', `${callId}: occurred_at goes back by ${last - at} ms`, time);
    last = Math.max(last, at);
  });
}

function checkMoves(
  { callId, records, requested, end }: CallEvidence,
  report: Report,
  cover: (what: string) => void,
): void {
  let place: Place = 'nowhere';
  let attempt = 1;
  let returns = 0;
  let readyAt = 0;
  const tokens = new Set<string>();
  let ends = 0;
  /** Of an attempt that the engine ended, and whose result would still end the call (4.5). */
  let pending: string | undefined;
  for (const { event, time } of records) {
    const { kind, journal } = event;
    const name = kind.case ?? 'unknown';
    const move = MOVES[name];
    cover(`event ${name}`);
    if (move === undefined || !move.from.includes(place)) {
      report('4', `${callId}: ${name} while ${place}`, time);
      continue;
    }
    const next: Place = move.to === 'same' ? place : move.to;
    if (next !== place) cover(`${place} -> ${next}`);
    place = next;
    switch (kind.case) {
      case 'toolCallDispatched': {
        const token = journal?.leaseToken ?? '';
        if (token === '' || tokens.has(token)) report('4.3', `${callId}: lease ${token} used again`, time);
        tokens.add(token);
        if (kind.value.attempt !== attempt)
          report('4.3', `${callId}: dispatched as attempt ${kind.value.attempt} of ${attempt}`, time);
        if (occurredAt(event) < readyAt - 0.01)
          report('4.1', `${callId}: dispatched within its backoff`, time);
        pending = undefined;
        break;
      }
      case 'toolCallRequeued':
        returns += 1;
        if (returns > MAX_RETURNS) report('4.3', `${callId}: returned ${returns} times`, time);
        if (kind.value.attempt !== attempt) report('4.3', `${callId}: a return changed the attempt`, time);
        break;
      case 'toolCallAttemptFailed':
        if (kind.value.attempt !== attempt)
          report('4.2', `${callId}: attempt ${kind.value.attempt} failed`, time);
        attempt += 1;
        returns = 0;
        readyAt = occurredAt(event) + millis(kind.value.backoff);
        pending = kind.value.answered ? undefined : journal?.leaseToken;
        break;
      case 'toolCallLateAnswer':
        if (
          place === 'waiting' &&
          journal?.leaseToken === pending &&
          kind.value.outcome.case === 'result' &&
          mayEnd(requested, kind.value.outcome.value)
        )
          report('4.5', `${callId}: a result before the next dispatch did not end the call`, time);
        break;
      case 'toolCallFinished':
        cover(`end ${kind.value.outcome.case === 'error' ? kind.value.outcome.value.code : 'result'}`);
        ends += 1;
        if (ends > 1) report('4.5', `${callId}: a second end`, time);
        break;
      default:
        break;
    }
  }
  if (place !== 'finished' || end === undefined) report('4.5', `${callId}: has no end, and is ${place}`);
}

/** A late result that breaks its output schema changes nothing (the notes on 4.5). */
function mayEnd(requested: CallEvidence['requested'], result: ToolResult): boolean {
  return requested?.name !== 'typed' || (result.content.length === 1 && textOf(result).startsWith('run '));
}

function checkPolicy(call: CallEvidence, expected: Expectation, report: Report): void {
  const { callId, records, requested, end } = call;
  if (requested?.toolDigest !== '' && requested?.safeToRepeat !== expected.safeToRepeat)
    report('4.2', `${callId}: safe_to_repeat is ${requested?.safeToRepeat}`);
  if ((end?.value.attempts ?? 0) > expected.maxAttempts)
    report('4.2', `${callId}: took ${end?.value.attempts} attempts of ${expected.maxAttempts}`);
  let dispatched: Recorded | undefined;
  let attempts = 1;
  const start = occurredAt(records[0]?.event);
  for (const record of records) {
    const { event, time, engine } = record;
    const { kind } = event;
    if (kind.case === 'toolCallDispatched') {
      dispatched = record;
      attempts = kind.value.attempt;
      if (attempts > expected.maxAttempts) report('4.2', `${callId}: attempt ${attempts} began`, time);
    }
    const retried = kind.case === 'toolCallAttemptFailed';
    if (!retried && kind.case !== 'toolCallFinished') continue;
    if (engine === '') continue;
    const error = retried
      ? kind.value.error
      : kind.value.outcome.case === 'error'
        ? kind.value.outcome.value
        : undefined;
    if (error === undefined) continue;
    const ran = occurredAt(event) - occurredAt(dispatched?.event);
    const { code, mayHaveTakenEffect } = error;
    if (code === 'total_timeout') {
      if (retried) report('4.2', `${callId}: a total timeout was retried`, time);
      if (occurredAt(event) - start < expected.totalTimeout - 0.01)
        report('4.4', `${callId}: total timeout too early`, time);
    }
    if (code === 'run_timeout' || code === 'heartbeat_timeout' || code === 'outcome_unknown') {
      if (!mayHaveTakenEffect)
        report('4.6', `${callId}: ${code} does not say that it may have taken effect`, time);
      if (retried && !expected.safeToRepeat)
        report('4.2', `${callId}: ${code} of an unsafe tool was retried`, time);
    }
    if (
      code === 'heartbeat_timeout' &&
      (expected.heartbeatTimeout === undefined || ran < expected.heartbeatTimeout - 0.01)
    )
      report('4.4', `${callId}: heartbeat timeout too early`, time);
    if (
      code === 'run_timeout' &&
      dispatched !== undefined &&
      !wasOpen(records, dispatched, record) &&
      ran < expected.runTimeout - 0.01
    )
      report('4.4', `${callId}: run timeout too early`, time);
    if (retried && ['invalid_output', 'invalid_answer', 'cancelled'].includes(code))
      report('4.2', `${callId}: ${code} was retried`, time);
  }
}

/** A deferred call's own timeout is named like a run's. */
function wasOpen(records: readonly Recorded[], from: Recorded, to: Recorded): boolean {
  return records
    .slice(records.indexOf(from), records.indexOf(to))
    .some(({ event }) => event.kind.case === 'toolCallDeferred');
}

function occurredAt(event: Recorded['event'] | undefined): number {
  const time = event?.occurredAt;
  return time === undefined ? 0 : Number(time.seconds) * 1_000 + time.nanos / 1e6;
}
