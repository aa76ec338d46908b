import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { totalDeadline } from '../../src/core/call.ts';
import type { Command, Heard } from '../../src/core/command.ts';
import { owed } from '../../src/core/owed.ts';
import type { Session } from '../../src/core/session.ts';
import type { Instant } from '../../src/core/time.ts';
import { wakeup } from '../../src/core/timers.ts';
import { answer, failed, lose, placement, reject, resume, START } from './commands.ts';
import { advance } from './given.ts';
import { always, everyCall, play, steps } from './sequences.ts';

const NOBODY: Heard = new Map();

describe('clocks', () => {
  it('4.4: whoever has not ended, and waits for no person, has a time at which to be looked at', () => {
    everyCall((call, _, { after: session }) => {
      const waits = call.phase.kind !== 'finished' && call.phase.kind !== 'interrupted';
      expect(waits ? wakeup(session, session.occurredAt, NOBODY) : 0).toBeDefined();
    });
  });

  it('4.4: after a tick the next look is in the future', () => {
    always(({ session, now }) => {
      const ticked = advance(session, { kind: 'tick', at: now, draw: 0, heard: NOBODY });
      expect(wakeup(ticked, now, NOBODY) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now);
    });
  });

  it('4.4: looked at when it asks for it, every call ends by its total deadline, whatever workers do', () => {
    const meanwhile = fc.array(fc.constantFrom<Deed>('nothing', 'reject', 'lost', 'busy', 'defer'), {
      minLength: 1,
    });
    fc.assert(
      fc.property(steps, meanwhile, (sequence, deeds) => {
        const played = play(sequence);
        const answered = resumeAll(played.session, played.now);
        const deadlines = new Map(
          [...answered.calls.values()].map((call) => [call.callId, totalDeadline(call)]),
        );
        const { ends, session } = runDown(answered, played.now, deeds);
        for (const call of session.calls.values()) expect(call.phase.kind).toBe('finished');
        for (const [callId, at] of ends) {
          expect(at).toBeLessThanOrEqual(
            Math.max(deadlines.get(callId) ?? Number.NaN, answered.occurredAt, played.now),
          );
        }
      }),
      { numRuns: 200 },
    );
  });
});

type Deed = 'nothing' | 'reject' | 'lost' | 'busy' | 'defer';

function resumeAll(session: Session, now: Instant): Session {
  const waiting = [...session.calls.values()].flatMap(({ phase }) =>
    phase.kind === 'interrupted' ? phase.interruptId : [],
  );
  return waiting.reduce((state, id) => advance(state, resume(id, now - START)), session);
}

/** Looks whenever the session asks for it, gives each call that waits a worker, and lets that worker do a deed. */
function runDown(from: Session, start: Instant, deeds: readonly Deed[]) {
  const ends = new Map<string, Instant>();
  let session = from;
  let now = start;
  let count = 0;
  const run = (command: Command) => {
    const before = session;
    session = advance(session, command);
    for (const { callId, phase } of session.calls.values()) {
      const ended = phase.kind === 'finished' && before.calls.get(callId)?.phase.kind !== 'finished';
      if (ended) ends.set(callId, now);
    }
  };
  // Far above what the attempts, requeues and clocks of three calls can ask for.
  for (let looks = 0; looks < 2_000; looks += 1) {
    run({ kind: 'tick', at: now, draw: 0, heard: NOBODY });
    for (const effect of owed(session, now)) {
      if (effect.kind !== 'place') continue;
      count += 1;
      const token = `down${count}`;
      const at = now - START;
      run({ kind: 'place', at: now, callId: effect.call.callId, placement: placement(token) });
      const deed = deeds[count % deeds.length];
      if (deed === 'reject') run(reject(token, at));
      if (deed === 'lost') run(lose(token, 'lost', at));
      if (deed === 'busy') run(answer(token, failed('busy', { retryable: true }), at, 0));
      if (deed === 'defer') run(answer(token, { kind: 'defer', timeout: undefined }, at));
    }
    const placeable = owed(session, now).some(({ kind }) => kind === 'place');
    const next = wakeup(session, now, NOBODY);
    if (next === undefined) return { ends, session };
    now = placeable ? now : Math.max(next, now);
  }
  throw new Error('the session asks to be looked at for ever');
}
