import type { SessionEvent, ToolCallFinished } from '../../../gen/spindle/v1/event_pb.ts';
import { instantOf } from '../../../src/core/time.ts';
import type { Evidence } from './evidence.ts';
import { recordedEnd } from './programs/ends.ts';
import { AGAIN, type Effect } from './programs/work.ts';
import { readStory, type Story } from './story.ts';

/** Clocks of several processes on one machine agree to within this. */
const CLOCK_SKEW_MS = 100;

/**
 * What is wrong with the evidence, one sentence each; nothing when everything holds. It knows the rules of
 * protocol.md and nothing of the engine.
 */
export function judge(evidence: Evidence): string[] {
  const faults = new Set<string>();
  const blame = (callId: string, what: string): void => {
    faults.add(`${callId}: ${what}`);
  };
  const effectsOf = Map.groupBy(evidence.effects, ({ callId }) => callId);

  for (const callId of evidence.logs.keys()) {
    if (!evidence.seen.has(callId)) blame(callId, 'the journal holds a call that nobody made');
  }
  for (const callId of evidence.asked) {
    const log = evidence.logs.get(callId);
    if (log === undefined) {
      blame(callId, 'the journal does not know it (7.1)');
      continue;
    }
    const story = readStory(log);
    const effects = effectsOf.get(callId) ?? [];
    const say = (what: string): void => blame(callId, what);
    judgeLog(story, log, say);
    judgeWitnesses(evidence, callId, story.end, say);
    judgeEffects(story, effects, say);
    judgeLosses(evidence, story, effects, say);
  }
  judgeKeys(evidence.effects, blame);
  return [...faults];
}

type Say = (what: string) => void;

/** 4.5, 4.3, 7.1, 7.2: one log without gaps, and exactly one end. */
function judgeLog(story: Story, log: readonly SessionEvent[], say: Say): void {
  if (log.some(({ sequence }, index) => sequence !== index + 1)) say('its log has a gap (7.1)');
  const times = log.map(({ occurredAt }) => (occurredAt === undefined ? 0 : instantOf(occurredAt)));
  if (times.some((time, index) => time < (times[index - 1] ?? 0))) say('its time goes back (7.2)');
  if (log.filter(({ kind }) => kind.case === 'toolCallRequested').length !== 1)
    say('it is not requested once');
  if (log[0]?.kind.case !== 'toolCallRequested') say('its log does not begin with its request');
  if (story.ends.length !== 1) say(`it has ${story.ends.length} ends (4.5)`);
  const after = log.slice(log.findIndex(({ kind }) => kind.case === 'toolCallFinished') + 1);
  if (after.some(({ kind }) => kind.case !== 'toolCallLateAnswer')) say('something follows its end (4.5)');
  if (new Set(story.dispatches.map(({ leaseToken }) => leaseToken)).size !== story.dispatches.length) {
    say('a lease token occurs twice');
  }
}

/** The caller, GetCall and ListCalls tell the end that is recorded. */
function judgeWitnesses(
  { seen, listed, got }: Evidence,
  callId: string,
  end: ToolCallFinished | undefined,
  say: Say,
): void {
  const recorded = end && recordedEnd(end.outcome);
  const saw = seen.get(callId) ?? [];
  if (saw.length !== 1 || saw[0] !== recorded) {
    say(`recorded is ${recorded}, and its caller saw ${saw.join(', ') || 'nothing'}`);
  }
  if (listed.get(callId) !== recorded)
    say(`recorded is ${recorded}, and ListCalls says ${listed.get(callId)}`);
  if (got.get(callId) !== recorded) say(`recorded is ${recorded}, and GetCall says ${got.get(callId)}`);
}

/** 4.2, 4.3, 4.7: what ran was dispatched before, once for each dispatch, and once at all where it must not repeat. */
function judgeEffects({ tool, end, dispatches }: Story, effects: readonly Effect[], say: Say): void {
  const isSafe = tool === AGAIN;
  const code = end?.outcome.case === 'error' ? end.outcome.value.code : undefined;
  if (!isSafe && effects.length > 1) say(`it ran ${effects.length} times, and must not be repeated (4.2)`);
  if (isSafe && code !== undefined) say(`it is safe to repeat, and ended with ${code} (4.2)`);
  if (!isSafe && code !== undefined && code !== 'outcome_unknown') say(`it ended with ${code}`);
  for (const { attempt, worker, tool: ran } of effects) {
    const same = effects.filter((effect) => effect.attempt === attempt && effect.worker === worker).length;
    const granted = dispatches.filter(
      (dispatch) => dispatch.attempt === attempt && dispatch.worker === worker && !dispatch.returned,
    ).length;
    if (ran !== tool) say(`${ran} ran in place of ${tool}`);
    if (same > granted) {
      say(`${worker} ran attempt ${attempt} ${same} times, and had it ${granted} times (4.3)`);
    }
  }
  const [first] = effects;
  const recorded = end && recordedEnd(end.outcome);
  if (recorded?.startsWith('result ') === true && recorded.split(' ')[2] !== first?.idempotencyKey) {
    say(`it ended with ${recorded}, and no such effect is known`);
  }
}

/** 4.6, 5.8: an unknown outcome has a worker that was really lost, and is not declared before the grace is over. */
function judgeLosses(evidence: Evidence, story: Story, effects: readonly Effect[], say: Say): void {
  for (const { at, worker, attempt, code } of story.losses) {
    if (code !== 'outcome_unknown') say(`attempt ${attempt} failed with ${code}`);
    const life = evidence.workers.get(worker);
    const engine = evidence.engines.findLast(({ launchedAt }) => launchedAt <= at + CLOCK_SKEW_MS);
    if (life === undefined || engine === undefined) {
      say(`it was lost by ${worker}, which nobody knows`);
      continue;
    }
    const killedAt = life.killedAt !== undefined && life.killedAt <= at ? life.killedAt : undefined;
    const graceOver = Math.max(killedAt ?? 0, engine.launchedAt) + evidence.resumeGraceMs;
    if (at < graceOver - CLOCK_SKEW_MS) {
      say(`${worker} was given up ${Math.round(graceOver - at)} ms before its grace was over (5.8)`);
    }
    if (killedAt !== undefined) continue;
    if (life.connectedAt.some((time) => time >= engine.launchedAt && time < at)) {
      say(`it was lost by ${worker}, which lived and was connected (4.6)`);
    }
    const ran = effects.some((effect) => effect.attempt === attempt && effect.worker === worker);
    if (ran && life.killedAt === undefined && story.lateAnswers === 0) {
      say(`${worker} ended in peace, and never answered for what it had done (5.7, 5.9)`);
    }
  }
}

/** 4.7: a key names one call, and a call has one key. */
function judgeKeys(effects: readonly Effect[], blame: (callId: string, what: string) => void): void {
  const calls = Map.groupBy(effects, ({ idempotencyKey }) => idempotencyKey);
  const keys = Map.groupBy(effects, ({ callId }) => callId);
  for (const [key, of] of calls) {
    if (of.some(({ callId }) => callId !== of[0]?.callId)) blame(key, 'the key names two calls (4.7)');
  }
  for (const [callId, of] of keys) {
    if (of.some(({ idempotencyKey }) => idempotencyKey !== of[0]?.idempotencyKey)) {
      blame(callId, 'it has two idempotency keys (4.7)');
    }
  }
}
