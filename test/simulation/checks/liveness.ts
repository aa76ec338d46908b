import type { CallEvidence, Evidence, Report } from './evidence.ts';
import { expectationOf } from './expectation.ts';

/** In milliseconds (5.3). */
const RESUME_GRACE_MS = 30_000;
const SILENCE_MS = 30_000;
/** The longest wait before a reconnect, and what networks and disks take. */
const SLACK_MS = 30_000;

/** Everything comes to its end once nothing goes wrong any more: 4.4, 5.4, 5.8, 7.1. */
export function checkLiveness(evidence: Evidence, report: Report): void {
  const { story, facts, calls } = evidence;
  if (story.crash !== undefined) {
    const { stack } = story.crash as { readonly stack?: string };
    report('style', `something threw: ${stack ?? String(story.crash)}`);
    return;
  }
  for (const name of story.unanswered) report('7.1', `${name}: its caller never heard the end`);
  for (const fact of facts)
    if (fact.kind === 'bug') report('style', `rejected: ${String(fact.error)}`, fact.time);
  for (const { worker, slots, ran, ended } of story.probes) {
    if (ran !== slots) report('5.4', `${worker} has ${slots} slots, and ${ran} are free in the end`);
    if (ended !== ran) report('5.4', `${worker} ran ${ran} probes, and ${ended} ended`);
  }
  let undisturbedFrom = story.calmAt;
  for (const fact of facts) {
    if (fact.kind === 'engine_listens' || fact.kind === 'worker_started')
      undisturbedFrom = Math.max(undisturbedFrom, fact.time);
    if (fact.kind === 'worker_ended' && fact.why !== 'drained' && !fact.why.startsWith('ABORTED'))
      report('5.12', `${fact.worker} was sent away: ${fact.why}`, fact.time);
  }
  for (const call of calls.values()) {
    checkBound(call, undisturbedFrom);
    checkGrace(call);
  }

  function checkBound(call: CallEvidence, from: number): void {
    const expected = expectationOf(call);
    const begun = call.records[0];
    if (expected === undefined || begun === undefined || call.end === undefined) return;
    // The clocks of a call that waits for a person stand still.
    if (call.records.some(({ event }) => event.kind.case === 'interruptRaised')) return;
    const due =
      Math.max(begun.time + expected.totalTimeout, from + SILENCE_MS + RESUME_GRACE_MS) +
      story.setBack +
      SLACK_MS;
    if (call.end.at.time > due)
      report('4.4', `${call.callId}: ended ${call.end.at.time - due} ms too late`, call.end.at.time);
  }

  /** 5.8: what was dispatched when an engine died gets the grace of the next one. */
  function checkGrace({ callId, records }: CallEvidence): void {
    let dispatchedBy = '';
    for (const { event, time, engine } of records) {
      const { kind } = event;
      if (kind.case === 'toolCallDispatched') dispatchedBy = engine;
      const error =
        kind.case === 'toolCallAttemptFailed'
          ? kind.value.error
          : kind.case === 'toolCallFinished' && kind.value.outcome.case === 'error'
            ? kind.value.outcome.value
            : undefined;
      const ran = dispatchedBy !== '';
      if (
        kind.case !== 'toolCallDispatched' &&
        kind.case !== 'toolCallCheckpointed' &&
        kind.case !== 'toolCallLateAnswer'
      ) {
        const by = dispatchedBy;
        dispatchedBy = '';
        if (!ran || error === undefined || engine === '' || by === engine) continue;
        if (!['run_timeout', 'heartbeat_timeout', 'total_timeout'].includes(error.code)) continue;
        const since = evidence.engines.get(engine)?.startedAt ?? 0;
        if (time < since + RESUME_GRACE_MS - 1)
          report(
            '5.8',
            `${callId}: ${error.code} ${Math.round(time - since)} ms after the engine's start`,
            time,
          );
      }
    }
  }
}
