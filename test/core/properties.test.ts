import { fromBinary, toBinary } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SessionEvent, SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';
import { lastLease } from '../../src/core/call.ts';
import type { Command, Heard } from '../../src/core/command.ts';
import { evolve } from '../../src/core/evolve.ts';
import { MAX_REQUEUES } from '../../src/core/limits.ts';
import { effectName, owed } from '../../src/core/owed.ts';
import { newSession, type Session } from '../../src/core/session.ts';
import { instantOf } from '../../src/core/time.ts';
import {
  answer,
  cancel,
  failed,
  lose,
  placement,
  reject,
  request,
  result,
  settle,
  tick,
} from './commands.ts';
import { advance } from './given.ts';
import { always, eventsOf, everyCall, play, steps } from './sequences.ts';

const NOBODY: Heard = new Map();

function aboutCall(callId: string, events: readonly SessionEvent[]): readonly SessionEvent[] {
  return events.filter(({ kind: { value } }) => value && 'callId' in value && value.callId === callId);
}

function replay(events: readonly SessionEvent[]): Session {
  return events.reduce(evolve, newSession('s1'));
}

describe('the sequences', () => {
  it('reach every phase, every state of a lease, and every event of a call', () => {
    const reached = new Set<string>();
    for (const sequence of fc.sample(steps, { numRuns: 300, seed: 1 })) {
      const { moments, events } = play(sequence);
      for (const { kind } of events) reached.add(kind.case ?? '');
      for (const { phase, leases } of moments.flatMap((moment) => [...moment.after.calls.values()])) {
        reached.add(phase.kind);
        for (const { state } of leases) reached.add(state.kind);
      }
    }
    expect([...reached].toSorted()).toEqual(
      [
        ...['waiting', 'dispatched', 'open', 'interrupted', 'finished'],
        ...['running', 'answered', 'deferred', 'returned', 'given_up', 'late'],
        ...['toolCallRequested', 'toolCallDispatched', 'toolCallRequeued', 'toolCallCheckpointed'],
        ...['toolCallDeferred', 'toolCallAttemptFailed', 'toolCallFinished', 'toolCallLateAnswer'],
        ...['interruptRaised', 'interruptResumed'],
      ].toSorted(),
    );
  });
});

describe('the log', () => {
  it('7.1: what is read back from it is the state, at every moment', () => {
    always(({ moments }) => {
      const log: SessionEvent[] = [];
      for (const moment of moments) {
        log.push(...eventsOf(moment).map(overTheWire));
        expect(moment.after.sequence).toBe(log.length);
      }
      // After all commands, so that a state that a later command had changed in place would show.
      for (const { after: state } of moments) expect(replay(log.slice(0, state.sequence))).toEqual(state);
    });
  });

  it('7.2: it has no gap, and occurred_at never goes back', () => {
    always(({ events }) => {
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
      const times = events.map(({ occurredAt }) => (occurredAt ? instantOf(occurredAt) : Number.NaN));
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    });
  });

  it('4.3: an event about a dispatch names its lease', () => {
    always(({ events }) => {
      const kinds = ['toolCallDispatched', 'toolCallDeferred', 'toolCallLateAnswer', 'toolCallCheckpointed'];
      const tokens = events
        .filter(({ kind }) => kinds.includes(kind.case ?? ''))
        .map((e) => e.journal?.leaseToken);
      expect(tokens.filter((token) => !token)).toEqual([]);
    });
  });
});

function overTheWire(event: SessionEvent): SessionEvent {
  return fromBinary(SessionEventSchema, toBinary(SessionEventSchema, event));
}

describe('the invariants of a call', () => {
  it('4.2: (1) its attempt is at least 1, never goes back, and never exceeds its policy', () => {
    everyCall((call, before) => {
      expect(call.attempt).toBeGreaterThanOrEqual(before?.attempt ?? 1);
      expect(call.attempt).toBeLessThanOrEqual(call.policy.maxAttempts);
    });
  });

  it('4.3: (2) it is dispatched exactly when its last lease runs, and no other lease ever does', () => {
    everyCall((call) => {
      const running = call.leases.filter(({ state }) => state.kind === 'running');
      expect(running).toEqual(call.phase.kind === 'dispatched' ? [lastLease(call)] : []);
    });
  });

  it('4.5: (3) once it has ended it stays so, with the same outcome', () => {
    everyCall((call, before) => {
      const ended = before?.phase.kind === 'finished' ? before.phase : call.phase;
      expect(before?.phase.kind === 'finished' ? call.phase : ended).toEqual(ended);
    });
  });

  it('4.3: (4) a lease token occurs once', () => {
    always(({ session }) => {
      const tokens = [...session.calls.values()].flatMap(({ leases }) => leases.map(({ token }) => token));
      expect(new Set(tokens).size).toBe(tokens.length);
    });
  });

  it('4.9: (5) while it is open, its last lease is the deferred one', () => {
    everyCall((call) => {
      const last = call.phase.kind === 'open' ? lastLease(call)?.state.kind : 'deferred';
      expect(last).toBe('deferred');
    });
  });

  it('4.3: an attempt comes back less often than the bound', () => {
    everyCall((call) => expect(call.requeues).toBeLessThanOrEqual(MAX_REQUEUES));
  });
});

describe('the end of a call', () => {
  it('4.5: exactly one is recorded', () => {
    always(({ events, session }) => {
      for (const call of session.calls.values()) {
        const ends = aboutCall(call.callId, events).filter(({ kind }) => kind.case === 'toolCallFinished');
        expect(ends.length).toBe(call.phase.kind === 'finished' ? 1 : 0);
      }
    });
  });

  it('4.5: after it nothing but late answers is recorded, one for each lease', () => {
    everyCall((call, before, moment) => {
      const later = before?.phase.kind === 'finished' ? aboutCall(call.callId, eventsOf(moment)) : [];
      expect(later.filter(({ kind }) => kind.case !== 'toolCallLateAnswer')).toEqual([]);
    });
    always(({ events }) => {
      const late = events.filter(({ kind }) => kind.case === 'toolCallLateAnswer');
      expect(new Set(late.map(({ journal }) => journal?.leaseToken)).size).toBe(late.length);
    });
  });

  it('4.5: it counts the attempts that failed, and the one that a worker had at last', () => {
    always(({ events, session }) => {
      for (const { callId, phase, leases } of session.calls.values()) {
        const own = aboutCall(callId, events);
        const failures = own.filter(({ kind }) => kind.case === 'toolCallAttemptFailed').length;
        const had = leases.filter(({ state }) => state.kind !== 'returned' && state.kind !== 'late');
        const least = Math.max(failures, ...had.map(({ attempt }) => attempt));
        const counted = phase.kind === 'finished' ? phase.end.attempts : least;
        expect(counted).toBeGreaterThanOrEqual(least);
        expect(counted).toBeLessThanOrEqual(failures + 1);
      }
    });
  });

  it('4.5: it is one, in whatever order a result, a settlement, a cancel, a loss, a return and a timeout come', () => {
    const commands: readonly ((at: number) => Command)[] = [
      (at) => answer('t1', result('done'), at),
      (at) => settle(failed('no'), at),
      (at) => cancel(at),
      (at) => lose('t1', 'lost', at),
      (at) => reject('t1', at),
      (at) => tick(at + 20_000),
    ];
    const orders = permutations(commands);
    expect(orders.length).toBe(720);
    for (const order of orders) {
      let session = advance(newSession('s1'), request({ placement: placement('t1') }));
      let ends = 0;
      // Everything twice: whatever is sent may be sent again.
      for (const [index, command] of [...order, ...order].entries()) {
        const before = session.calls.get('c1')?.phase.kind;
        session = advance(session, tolerant(session, command(index)));
        if (before !== 'finished' && session.calls.get('c1')?.phase.kind === 'finished') ends += 1;
      }
      expect(ends).toBe(1);
    }
  });
});

/** A settlement of a call that waits is refused, which is no event; a tick at its time stands in for it. */
function tolerant(session: Session, command: Command): Command {
  const waits = session.calls.get('c1')?.phase.kind === 'waiting';
  return command.kind === 'settle' && waits
    ? { kind: 'tick', at: command.at, draw: 0, heard: NOBODY }
    : command;
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((others) => [item, ...others]),
  );
}

describe('what is not safe to repeat', () => {
  it('4.2: it is never dispatched again after the engine ended a dispatch of it, or lost one', () => {
    always(({ moments, events }) => {
      const returned = new Set(
        events
          .filter(({ kind }) => kind.case === 'toolCallRequeued')
          .map(({ journal }) => journal?.leaseToken),
      );
      for (const moment of moments) {
        for (const { kind } of eventsOf(moment)) {
          const call =
            kind.case === 'toolCallDispatched' ? moment.after.calls.get(kind.value.callId) : undefined;
          const earlier = call === undefined || call.safeToRepeat ? [] : call.leases.slice(0, -1);
          const open = earlier.filter(
            ({ state, token }) => state.kind !== 'answered' && !returned.has(token),
          );
          expect(open).toEqual([]);
        }
      }
    });
  });
});

describe('what is owed', () => {
  it('7.1: each effect has a name of its own', () => {
    always(({ moments, now }) => {
      for (const { after: session } of moments) {
        const names = owed(session, now).map(effectName);
        expect(new Set(names).size).toBe(names.length);
      }
    });
  });

  it('7.1: a place of an earlier state is not taken for one of a later state', () => {
    always(({ moments, now }) => {
      const seen = new Map<string, number>();
      for (const { after: session } of moments) {
        for (const effect of owed(session, now)) {
          if (!('call' in effect) || !('leases' in effect.call)) continue;
          const dispatches = effect.call.leases.length;
          expect(effect.kind === 'place' ? (seen.get(effectName(effect)) ?? dispatches) : dispatches).toBe(
            dispatches,
          );
          seen.set(effectName(effect), dispatches);
        }
      }
    });
  });
});
