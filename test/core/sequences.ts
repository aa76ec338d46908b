import * as fc from 'fast-check';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { Call } from '../../src/core/call.ts';
import type { Command, Heard, WorkerAnswer } from '../../src/core/command.ts';
import { type Decided, decide } from '../../src/core/decide.ts';
import { evolve } from '../../src/core/evolve.ts';
import type { Policy } from '../../src/core/policy.ts';
import { newSession, type Session } from '../../src/core/session.ts';
import type { Instant, Millis } from '../../src/core/time.ts';
import {
  ACCEPT,
  ACCEPT_NOTHING,
  answer,
  BAD_ARGUMENTS,
  cancel,
  checkpoint,
  defer,
  disown,
  failed,
  input,
  interrupt,
  lose,
  mismatch,
  place,
  placement,
  reject,
  request,
  result,
  resume,
  START,
  STOPPED,
  settle,
  tick,
  UNFIT,
} from './commands.ts';

/** Makes a command of what has happened so far: the time, and the lease tokens and interrupt ids in use. */
type Maker = (so: SoFar) => Command;

interface SoFar {
  readonly now: Millis;
  /** Tokens and interrupt ids are new each time, as the engine's are. */
  readonly fresh: () => string;
  readonly tokens: readonly string[];
  readonly interruptIds: readonly string[];
}

/** One command, after a wait. A negative wait is a wall clock that was set back. */
interface Step {
  readonly wait: Millis;
  readonly make: Maker;
}

export interface Moment {
  readonly command: Command;
  readonly before: Session;
  readonly decided: Decided;
  readonly after: Session;
}

export interface Played {
  readonly moments: readonly Moment[];
  readonly events: readonly SessionEvent[];
  readonly session: Session;
  readonly now: Instant;
}

export function play(steps: readonly Step[]): Played {
  const tokens: string[] = [];
  const interruptIds: string[] = [];
  const moments: Moment[] = [];
  let session = newSession('s1');
  let now = 0;
  let count = 0;
  const fresh = () => `id${++count}`;
  for (const { wait, make } of steps) {
    now = Math.max(now + wait, 0);
    const command = make({ now, fresh, tokens, interruptIds });
    const decided = decide(session, command);
    const after = decided.kind === 'accepted' ? decided.events.reduce(evolve, session) : session;
    moments.push({ command, before: session, decided, after });
    if (command.kind === 'place') tokens.push(command.placement.leaseToken);
    if (command.kind === 'request' && command.placement) tokens.push(command.placement.leaseToken);
    if (command.kind === 'answer' && command.answer.kind === 'interrupt') {
      interruptIds.push(command.answer.interruptId);
    }
    session = after;
  }
  return { moments, events: moments.flatMap(eventsOf), session, now: START + now };
}

export function eventsOf({ decided }: Moment): readonly SessionEvent[] {
  return decided.kind === 'accepted' ? decided.events : [];
}

const callId = fc.constantFrom('c1', 'c1', 'c1', 'c2', 'c3');
const draw = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
/** Counted from the newest, so that most answers are to a dispatch that runs. */
const which = fc.constantFrom(0, 0, 0, 0, 1, 2, 5);
const newest = (ids: readonly string[], index: number) => ids.at(-1 - index) ?? 'nobody';

const policy: fc.Arbitrary<Policy> = fc.record({
  queueTimeout: fc.constantFrom(undefined, 1, 3_000, 10_000),
  runTimeout: fc.constantFrom(undefined, 1, 5_000, 20_000),
  totalTimeout: fc.constantFrom(1, 20_000, 100_000, 10_000_000),
  heartbeatTimeout: fc.constantFrom(undefined, undefined, 2_000),
  maxAttempts: fc.constantFrom(1, 2, 3, 5),
  initialBackoff: fc.constantFrom(1, 1_000),
  maxBackoff: fc.constantFrom(500, 30_000),
  backoffMultiplier: fc.constantFrom(1, 2, 7.5),
});

const makeRequest: fc.Arbitrary<Maker> = fc
  .record({
    callId,
    policy,
    safeToRepeat: fc.boolean(),
    bad: fc.constantFrom(false, false, false, true),
    requireValidInput: fc.boolean(),
    placed: fc.boolean(),
    arguments: fc.constantFrom('{"amount":12}', '{"amount":12}', '{}'),
  })
  .map(({ bad, placed, ...fields }) => {
    const verdict = bad ? { input: input('invalid'), inputFailure: BAD_ARGUMENTS } : {};
    return ({ now, fresh }) =>
      request({ ...fields, ...verdict, placement: placed ? placement(fresh()) : undefined }, now);
  });

const makePlace: fc.Arbitrary<Maker> = fc
  .record({ callId, other: fc.integer({ min: 0, max: 9 }) })
  .map(({ callId, other }) => ({ now, fresh }) => {
    const bad = { toolDigest: 'digest-b', input: input('invalid'), inputFailure: BAD_ARGUMENTS };
    return { ...place(fresh(), now, { recheck: other === 0 ? bad : undefined }), callId };
  });

const BUSY = failed('busy', { retryable: true });
const outside = fc.constantFrom(result('done'), failed('no'), mismatch('odd'));
const constantAnswers = fc.constantFrom<WorkerAnswer>(
  result('done'),
  result('done'),
  BUSY,
  BUSY,
  failed('no'),
  failed('later', { retryable: true, retryAfter: 4_000 }),
  mismatch('odd'),
  ACCEPT,
  ACCEPT_NOTHING,
  STOPPED,
  UNFIT,
  defer(),
  defer(3_000),
  defer(0),
);
const workerAnswer: fc.Arbitrary<(so: SoFar) => WorkerAnswer> = fc.oneof(
  { weight: 5, arbitrary: constantAnswers.map((constant) => () => constant) },
  { weight: 1, arbitrary: fc.constant(({ fresh }: SoFar) => interrupt(fresh())) },
);

const makeAnswer: fc.Arbitrary<Maker> = fc
  .record({ which, draw, workerAnswer, elsewhere: fc.integer({ min: 0, max: 19 }) })
  .map(({ which, draw, workerAnswer, elsewhere }) => (so) => ({
    ...answer(newest(so.tokens, which), workerAnswer(so), so.now, draw),
    instanceId: elsewhere === 0 ? 'i2' : 'i1',
  }));

const makeReturn: fc.Arbitrary<Maker> = fc
  .record({ which, draw, how: fc.constantFrom('reject', 'lost', 'lost', 'never_held', 'never_sent') })
  .map(({ which, draw, how }) => ({ now, tokens }) => {
    const token = newest(tokens, which);
    return how === 'reject' ? reject(token, now, draw) : lose(token, how, now, draw);
  });

const makeTick: fc.Arbitrary<Maker> = fc
  .record({ draw, heard: fc.constantFrom('nobody', 'away', 'everybody') })
  .map(({ draw, heard }) => ({ now, tokens }) => {
    const last = heard === 'away' ? 'away' : START + now;
    const all: Heard = new Map(tokens.map((token) => [token, last]));
    return tick(now, heard === 'nobody' ? new Map() : all, draw);
  });

const makeSettle: fc.Arbitrary<Maker> = fc
  .record({ callId, outside, attempt: fc.constantFrom(0, 0, 1, 2) })
  .map(({ callId, outside, attempt }) => ({ now }) => ({ ...settle(outside, now, attempt), callId }));

const makeResume: fc.Arbitrary<Maker> = fc
  .record({ which, deny: fc.constantFrom(undefined, undefined, 'No.') })
  .map(
    ({ which, deny }) =>
      ({ now, interruptIds }) =>
        resume(newest(interruptIds, which), now, deny),
  );

const makeRare: fc.Arbitrary<Maker> = fc
  .record({ callId, which, kind: fc.integer({ min: 0, max: 6 }) })
  .map(({ callId, which, kind }) => ({ now, tokens }) => {
    if (kind === 0) return { ...cancel(now), callId };
    if (kind === 1) return { ...disown(now), callId };
    return checkpoint(newest(tokens, which), [kind], now);
  });

const make: fc.Arbitrary<Maker> = fc.oneof(
  { weight: 3, arbitrary: makeRequest },
  { weight: 8, arbitrary: makePlace },
  { weight: 6, arbitrary: makeAnswer },
  { weight: 5, arbitrary: makeReturn },
  { weight: 4, arbitrary: makeTick },
  { weight: 2, arbitrary: makeSettle },
  { weight: 3, arbitrary: makeResume },
  { weight: 2, arbitrary: makeRare },
);

const wait = fc.constantFrom(0, 0, 1, 100, 1_000, 1_000, 3_000, 20_000, -500);

/** What may happen to a session, in any order: a request first, so that most of it has something to do. */
export const steps: fc.Arbitrary<readonly Step[]> = fc
  .tuple(makeRequest, fc.array(fc.record({ wait, make }), { minLength: 1, maxLength: 60, size: 'max' }))
  .map(([first, rest]) => [{ wait: 0, make: first }, ...rest]);

/** Checks something of what any sequence of commands leads to. */
export function always(check: (played: Played) => void): void {
  fc.assert(
    fc.property(steps, (sequence) => {
      check(play(sequence));
    }),
    { numRuns: 300 },
  );
}

/** Checks something of every call in every state that any sequence of commands leads to. */
export function everyCall(check: (call: Call, before: Call | undefined, moment: Moment) => void): void {
  always(({ moments }) => {
    for (const moment of moments) {
      for (const call of moment.after.calls.values()) {
        check(call, moment.before.calls.get(call.callId), moment);
      }
    }
  });
}
