import type { ToolResult } from '../../../gen/spindle/v1/result_pb.ts';
import type { AnswerOutcome } from '../../../src/sdk/outcome.ts';
import type { CallEvidence, Evidence, LeaseEvidence, Report, Run, StreamEvidence } from './evidence.ts';
import { expectationOf } from './expectation.ts';

/** Resume grace, in milliseconds (5.3). */
const RESUME_GRACE_MS = 30_000;

/** What was decided before a worker came back may be on record only after that: a slow disk takes this long. */
const RECORDING_MS = 3_000;

/** What follows at once is on record within this, also where the disk is full for a while. */
const NOTICED_WITHIN_MS = 15_000;

/** What workers ran, held against what the log says they were given: 4.2, 4.3, 4.5 to 4.7. */
export function checkRuns(evidence: Evidence, report: Report): void {
  for (const run of evidence.runs) checkRun(evidence, run, report);
  for (const lease of evidence.leases.values()) checkLease(evidence, lease, report);
  for (const call of evidence.calls.values()) {
    checkRepeats(evidence, call, report);
    checkEnd(evidence, call, report);
  }
  checkKeys(evidence, report);
  for (const stream of evidence.streams.values()) checkNames(evidence, stream, report);
}

function checkRun(evidence: Evidence, run: Run, report: Report): void {
  const lease = evidence.leases.get(run.leaseToken);
  const what = `${run.callId}: ${run.worker} ran ${run.leaseToken}`;
  if (lease === undefined || lease.dispatched.index > run.index) {
    report('4.3', `${what}, which no log had dispatched`, run.time);
    return;
  }
  if (lease.attempt !== run.attempt) report('4.3', `${what} as attempt ${run.attempt}`, run.time);
  if (evidence.workers.get(run.worker)?.instanceId !== lease.instanceId)
    report('4.3', `${what}, which was another's`, run.time);
}

function checkLease(
  evidence: Evidence,
  { token, call, runs, records, instanceId, writtenTo, dispatched }: LeaseEvidence,
  report: Report,
): void {
  if (runs.length > 1)
    report('4.3', `${call.callId}: lease ${token} ran ${runs.length} times`, runs[1]?.time);
  for (const { event, time, index } of records) {
    if (event.kind.case === 'toolCallRequeued' && runs.length > 0)
      report('4.3', `${call.callId}: ${event.kind.value.reason}, but lease ${token} ran`, time);
    const error =
      event.kind.case === 'toolCallAttemptFailed'
        ? event.kind.value.error
        : event.kind.case === 'toolCallFinished' && event.kind.value.outcome.case === 'error'
          ? event.kind.value.outcome.value
          : undefined;
    if (error?.code === 'outcome_unknown') mustBeLost(index, time);
  }
  // The end of a lost call names no lease: it is about the newest.
  const end = call.end;
  const newest = [...evidence.leases.values()].filter((lease) => lease.call === call).at(-1);
  if (
    newest?.token === token &&
    end?.value.outcome.case === 'error' &&
    end.value.outcome.value.code === 'outcome_unknown'
  )
    mustBeLost(end.at.index, end.at.time);

  /** 4.6: a worker that lives, keeps its name, and was there within the grace is not lost. */
  function mustBeLost(index: number, time: number): void {
    const holder = evidence.workers.get(writtenTo ?? '');
    if (holder === undefined) return;
    const superseded = [...evidence.streams.values()].some(
      ({ worker, hello }) =>
        worker !== holder.name &&
        hello?.hello.instanceId === instanceId &&
        hello.hello.resumeToken === '' &&
        hello.index > dispatched.index &&
        hello.index < index,
    );
    const dead = holder.over !== undefined && holder.over.index < index;
    if (superseded || dead) return;
    const engine =
      evidence.facts[index]?.kind === 'committed' ? (evidence.facts[index] as { engine: string }).engine : '';
    const present = [...evidence.streams.values()].some(
      ({ worker, welcomedAt, endedAt, engine: on }) =>
        worker === holder.name &&
        on === engine &&
        welcomedAt !== undefined &&
        welcomedAt.time < time - RECORDING_MS &&
        (endedAt === undefined || endedAt.time > time - RESUME_GRACE_MS + 2_000),
    );
    const since = evidence.engines.get(engine)?.startedAt ?? 0;
    if (present || time - since < RESUME_GRACE_MS - 1)
      report('4.6', `${call.callId}: lease ${token} counts as lost, but ${holder.name} was there`, time);
  }
}

/** 4.6: what a process held is lost as soon as a new one comes under its name, and not only after its grace. */
function checkNames(
  evidence: Evidence,
  { worker, engine, hello, welcomedAt }: StreamEvidence,
  report: Report,
): void {
  if (hello === undefined || welcomedAt === undefined || hello.hello.resumeToken !== '') return;
  const due = welcomedAt.time + NOTICED_WITHIN_MS;
  // An engine that was frozen, or died, has an excuse.
  const awake = evidence.facts.some(
    (fact) =>
      fact.kind === 'engine_wrote' &&
      fact.engine === engine &&
      fact.time > due - NOTICED_WITHIN_MS / 2 &&
      fact.time < due,
  );
  if (!awake) return;
  for (const { instanceId, writtenTo, dispatched, call } of evidence.leases.values()) {
    if (instanceId !== hello.hello.instanceId || writtenTo === worker || dispatched.index > welcomedAt.index)
      continue;
    const over = call.records.find(
      ({ event }) => event.sequence > dispatched.event.sequence && event.kind.case !== 'toolCallCheckpointed',
    );
    if (over === undefined || over.time > due)
      report('4.6', `${call.callId}: still waits for ${writtenTo} after ${worker} took its name`, due);
  }
}

/** 4.2: what is not safe to repeat runs again only after its own answer asked for it. */
function checkRepeats(evidence: Evidence, call: CallEvidence, report: Report): void {
  const expected = expectationOf(call);
  const runs = evidence.runs.filter(({ callId }) => callId === call.callId);
  if (expected === undefined) return;
  const attempts = new Set(runs.map(({ attempt }) => attempt)).size;
  if (attempts > expected.maxAttempts)
    report('4.2', `${call.callId}: ran ${attempts} of ${expected.maxAttempts} attempts`);
  if (expected.safeToRepeat) return;
  runs.slice(1).forEach((run, index) => {
    const before = runs[index];
    const outcome = before?.end?.outcome;
    const asked = outcome?.case === 'interrupt' || (outcome?.case === 'error' && outcome.value.retryable);
    const recorded = evidence.leases
      .get(before?.leaseToken ?? '')
      ?.records.some(
        ({ event: { kind }, index: at }) =>
          at < run.index &&
          ((kind.case === 'toolCallAttemptFailed' && kind.value.answered) || kind.case === 'interruptRaised'),
      );
    if (!asked || !recorded) report('4.2', `${call.callId}: is not safe to repeat, and ran again`, run.time);
  });
}

/** The recorded end is what somebody really said. */
function checkEnd(evidence: Evidence, { callId, isDirect, end }: CallEvidence, report: Report): void {
  if (end === undefined || end.at.engine === '') return;
  const { outcome } = end.value;
  const token = end.at.event.journal?.leaseToken ?? '';
  const text = outcome.case === 'result' ? textOf(outcome.value) : '';
  if (text === 'forged') report('4.3', `${callId}: ended with an answer of another worker`, end.at.time);
  if (token === '') {
    if (isDirect && outcome.case === 'result' && !text.startsWith('settled '))
      report('4.5', `${callId}: a result of nobody's: ${text}`, end.at.time);
    return;
  }
  const run = evidence.leases.get(token)?.runs[0];
  if (run?.end === undefined || run.end.index > end.at.index) {
    report('4.5', `${callId}: ended by lease ${token}, which had not answered`, end.at.time);
    return;
  }
  const said = saidBy(run.end.outcome);
  if (outcome.case === 'result' && said !== text)
    report('4.5', `${callId}: ended with ${text}, but the worker said ${said}`, end.at.time);
  if (outcome.case === 'error' && said !== undefined && !INSTEAD.has(outcome.value.code))
    report('4.5', `${callId}: ended with ${outcome.value.code}, but the worker said ${said}`, end.at.time);
}

/** What an answer may become: it breaks a rule, or there is no room for its bytes. */
const INSTEAD: ReadonlySet<string> = new Set(['invalid_output', 'invalid_answer', 'overloaded']);

function saidBy(outcome: AnswerOutcome): string | undefined {
  if (outcome.case === 'valueJson') return String(JSON.parse(outcome.value));
  return outcome.case === 'result' ? textOf(outcome.value) : undefined;
}

export function textOf(result: ToolResult): string {
  const block = result.content[0]?.kind;
  return block?.case === 'text' ? block.value.text : '';
}

/** 4.7. */
function checkKeys(evidence: Evidence, report: Report): void {
  const keys = new Map<string, string>();
  const calls = new Map<string, string>();
  for (const { callId, idempotencyKey, time } of evidence.runs) {
    if ((calls.get(callId) ?? idempotencyKey) !== idempotencyKey)
      report('4.7', `${callId}: ran under two idempotency keys`, time);
    if ((keys.get(idempotencyKey) ?? callId) !== callId)
      report('4.7', `${callId}: has the idempotency key of ${keys.get(idempotencyKey)}`, time);
    calls.set(callId, idempotencyKey);
    keys.set(idempotencyKey, callId);
  }
}
