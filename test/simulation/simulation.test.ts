import { describe, expect, it } from 'vitest';
import { judge } from './checker.ts';
import { runSeeds } from './run.ts';
import { transcript } from './transcript.ts';
import { FAULT_KINDS, MOMENTS } from './world/faults.ts';
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

  it('are functions of their seeds', async () => {
    const [first, again, other] = [await live({ seed: 5 }), await live({ seed: 5 }), await live({ seed: 6 })];
    expect(transcript(again.facts)).toBe(transcript(first.facts));
    expect(transcript(other.facts)).not.toBe(transcript(first.facts));
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
});
