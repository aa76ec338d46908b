import { describe, expect, it } from 'vitest';
import { judge } from './checker.ts';
import { runSeeds } from './run.ts';
import { transcript } from './transcript.ts';
import { FAULT_KINDS, MOMENTS, TURN_MOMENTS } from './world/faults.ts';
import { live } from './world/world.ts';

/** Some ten seconds. `npm run sim` lives through as many as somebody has time for. */
const SEEDS = 80;

/** What has to occur somewhere, or the worlds prove less than they claim. */
const OCCURRENCES = [
  ...FAULT_KINDS.map((kind) => `fault ${kind}`),
  ...['fault append in flight written', 'fault append in flight lost'],
  ...MOMENTS.map((moment) => `fault after: ${moment}`),
  ...['Requested', 'Dispatched', 'Requeued', 'Checkpointed', 'Deferred'].map(
    (name) => `event toolCall${name}`,
  ),
  ...['AttemptFailed', 'Finished', 'LateAnswer'].map((name) => `event toolCall${name}`),
  'event interruptRaised',
  ...['nowhere -> waiting', 'waiting -> dispatched', 'waiting -> finished', 'dispatched -> waiting'],
  ...['dispatched -> open', 'dispatched -> interrupted', 'dispatched -> finished', 'open -> waiting'],
  ...['open -> finished', 'interrupted -> finished'],
  ...['result', 'tool_error', 'invalid_arguments', 'unknown_tool', 'invalid_output', 'cancelled'].map(
    (code) => `end ${code}`,
  ),
  ...['queue_timeout', 'run_timeout', 'total_timeout', 'heartbeat_timeout', 'outcome_unknown'].map(
    (code) => `end ${code}`,
  ),
];

/** Worlds of conversations, and some direct calls beside them. */
const TALKING = { seeds: 80, sessions: 5, calls: 10 };

const TURN_OCCURRENCES = [
  ...TURN_MOMENTS.map((moment) => `fault after: ${moment}`),
  ...['sessionCreated', 'agentUpdated', 'stateUpdated', 'messageRecorded'].map((name) => `event ${name}`),
  ...['turnQueued', 'turnStarted', 'iterationStarted', 'turnEnded'].map((name) => `event ${name}`),
  ...['decisionRequested', 'decisionRefused', 'decisionRecorded'].map((name) => `event ${name}`),
  ...['modelCallRequested', 'modelCallAttemptFailed', 'modelCallFinished'].map((name) => `event ${name}`),
  ...['subagentStarted', 'interruptRaised', 'interruptResumed'].map((name) => `event ${name}`),
  ...['session.start', 'client.messages', 'model.finished', 'tool.finished'].map((name) => `asked ${name}`),
  ...['subagent.finished', 'interrupt.resumed', 'turn.finished'].map((name) => `asked ${name}`),
  ...['decision of a worker', 'decision answered by more than one delivery'],
  'proposal applied for a decider that was gone',
  ...['finished', 'cancelledReason', 'max_iterations', 'refused', 'decider_unavailable'].map(
    (end) => `turn ${end}`,
  ),
  ...['turn refused: turn_already_active', 'turn id sent again'],
  ...['queued turn started', 'queued turn cancelled', 'turn paused'],
  ...['model call retried', 'model call made again after a restart'],
  ...['interrupt of a handler', 'interrupt of a call', 'interrupt of a turn'],
  ...['interrupt approved', 'interrupt denied', 'interrupt answered again'],
  ...['call resumed with its answer', 'sequential call beside others', 'call of a newer definition'],
  ...['child started', 'child finished', 'watch taken up again', 'undeclared tool refused'],
  ...['result', 'denied', 'cancelled', 'invalid_arguments', 'unknown_tool', 'outside'].map(
    (code) => `call of a conversation ends: ${code}`,
  ),
  'call of a conversation deferred',
];

describe('worlds in which everything fails', () => {
  it('4, 5, 7: no rule is broken, and everything that can happen to a call does', async () => {
    const { broken, covered } = await runSeeds({ from: 1, seeds: SEEDS });
    const named = broken.map(({ seed, violations }) => ({
      replay: `npm run sim -- --seed ${seed}`,
      violations,
    }));
    expect(named).toEqual([]);
    expect(OCCURRENCES.filter((what) => !covered.has(what))).toEqual([]);
  });

  it('5, 6, 7: no rule of turns is broken, and everything that can happen to a turn does', async () => {
    const { broken, covered } = await runSeeds({ from: 1, ...TALKING });
    const named = broken.map(({ seed, violations }) => ({
      replay: `npm run sim -- --sessions ${TALKING.sessions} --calls ${TALKING.calls} --seed ${seed}`,
      violations,
    }));
    expect(named).toEqual([]);
    expect(TURN_OCCURRENCES.filter((what) => !covered.has(what))).toEqual([]);
  });

  it('are functions of their seeds', async () => {
    const [first, again, other] = [await live({ seed: 5 }), await live({ seed: 5 }), await live({ seed: 6 })];
    expect(transcript(again.facts)).toBe(transcript(first.facts));
    expect(transcript(other.facts)).not.toBe(transcript(first.facts));
    const talk = { seed: 5, ...TALKING };
    expect(transcript((await live(talk)).facts)).toBe(transcript((await live(talk)).facts));
  });

  it('break rules when their record is changed', async () => {
    const story = await live({ seed: 1 });
    expect(judge(story).violations).toEqual([]);
    const without = (kind: string) => ({ ...story, facts: story.facts.filter((fact) => fact.kind !== kind) });
    const rules = (kind: string) => new Set(judge(without(kind)).violations.map(({ rule }) => rule));
    expect(rules('run_ended')).toContain('4.5');
    expect(rules('run_started')).toContain('4.5');
    expect(rules('committed')).toContain('7.1');
    expect(rules('worker_read')).toContain('5.7');
  });

  it('break rules of turns when their record is changed', async () => {
    const story = await live({ seed: 2, ...TALKING });
    expect(judge(story).violations).toEqual([]);
    const without = (kind: string) => ({ ...story, facts: story.facts.filter((fact) => fact.kind !== kind) });
    const rules = (kind: string) => new Set(judge(without(kind)).violations.map(({ rule }) => rule));
    expect(rules('decision_said')).toContain('5.13');
    expect(rules('committed')).toContain('7.1');
    const events = (isLeftOut: (kind: string | undefined) => boolean) => ({
      ...story,
      facts: story.facts.map((fact) =>
        fact.kind === 'committed'
          ? { ...fact, events: fact.events.filter(({ kind }) => !isLeftOut(kind.case)) }
          : fact,
      ),
    });
    const rulesWithout = (left: string) =>
      new Set(judge(events((kind) => kind === left)).violations.map(({ rule }) => rule));
    expect(rulesWithout('turnEnded')).toContain('6.1');
    expect(rulesWithout('toolCallFinished')).toContain('4.5');
    expect(rulesWithout('turnQueued')).toContain('7.4');
    expect(rulesWithout('subagentStarted')).toContain('7.4');
  });
});
