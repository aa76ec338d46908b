import type { Millis } from '../../../src/core/time.ts';
import type { Dice } from './dice.ts';
import type { Observed } from './history.ts';

/** Everything that goes wrong in a world, with how often it is chosen. */
export const FAULT_WEIGHTS = {
  engine_crash: 14,
  engine_crash_clock_back: 4,
  engine_crash_clock_forward: 2,
  engine_drain: 4,
  engine_freeze: 6,
  append_full: 3,
  append_full_for_new: 2,
  append_overloaded: 2,
  append_failed: 4,
  append_slow: 4,
  session_taken_over: 3,
  worker_kill: 8,
  worker_kill_same_name: 4,
  worker_twin: 3,
  worker_freeze: 7,
  worker_drain: 4,
  worker_capacity: 4,
  worker_definitions: 4,
  stream_cut: 12,
  stream_silent: 6,
  stream_delay: 6,
  answer_twice: 5,
  answer_forged: 2,
} as const;

export type FaultKind = keyof typeof FAULT_WEIGHTS;

export const FAULT_KINDS = Object.keys(FAULT_WEIGHTS) as FaultKind[];

/**
 * A fault strikes a few events after somebody does a certain thing: so every gap between two steps of the
 * protocol gets its share, however short it is.
 */
export interface Fault {
  readonly kind: FaultKind;
  /** Looks out for its moment from then on. */
  readonly from: Millis;
  readonly moment: Moment;
  /** Events between the moment and the strike. */
  readonly stepsAfter: number;
}

export const MOMENTS = [
  'at once',
  'appending',
  'committed',
  'hello read',
  'welcome written',
  'welcome read',
  'heartbeat written',
  'heartbeat read',
  'dispatch written',
  'dispatch read',
  'run started',
  'run ended',
  'answer written',
  'answer read',
  'acknowledge written',
  'cancel written',
  'reject written',
  'stream ended',
  'asked',
  'engine started',
  'engine listens',
] as const;

/** In worlds with conversations as well. */
export const TURN_MOMENTS = [
  'model asked',
  'model said',
  'decision asked',
  'decision said',
  'turn accepted',
  'resumed',
  'watch begun',
] as const;

export type Moment = (typeof MOMENTS)[number] | (typeof TURN_MOMENTS)[number];

/** A moment that does not come is not waited for longer. */
export const MOMENT_PATIENCE_MS = 4_000;

/** @param talks there are conversations: faults strike at their moments too */
export function planFaults(dice: Dice, count: number, until: Millis, talks: boolean): Fault[] {
  const moments: readonly Moment[] = talks ? [...MOMENTS, ...TURN_MOMENTS] : MOMENTS;
  return Array.from({ length: count }, () => ({
    kind: dice.weighted(FAULT_WEIGHTS),
    from: dice.between(0, until),
    moment: dice.chance(0.2) ? 'at once' : dice.chance(0.15) ? 'appending' : dice.pick(moments),
    stepsAfter: dice.chance(0.7) ? dice.int(0, 4) : dice.int(0, 40),
  }));
}

/** The moment that a fact is, if it is one. */
export function momentOf(fact: Observed): Moment | undefined {
  switch (fact.kind) {
    case 'appending':
    case 'committed':
      return fact.kind;
    case 'run_started':
      return 'run started';
    case 'run_ended':
      return 'run ended';
    case 'stream_ended':
      return 'stream ended';
    case 'asked':
      return 'asked';
    case 'model_asked':
      return 'model asked';
    case 'model_said':
      return 'model said';
    case 'decision_asked':
      return 'decision asked';
    case 'decision_said':
      return 'decision said';
    case 'turn_accepted':
      return 'turn accepted';
    case 'resumed':
      return 'resumed';
    case 'watch_begun':
      return 'watch begun';
    case 'engine_started':
      return 'engine started';
    case 'engine_listens':
      return 'engine listens';
    case 'engine_wrote':
    case 'engine_read':
    case 'worker_wrote':
    case 'worker_read': {
      const done = fact.kind.endsWith('wrote') ? 'written' : 'read';
      const name = `${fact.frame.case} ${done}`;
      return MOMENTS.find((moment) => moment === name);
    }
    default:
      return undefined;
  }
}
