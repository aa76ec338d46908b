import { expect } from 'vitest';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type { Call } from '../../src/core/call.ts';
import type { Command } from '../../src/core/command.ts';
import { type Decided, decide } from '../../src/core/decide.ts';
import { evolve } from '../../src/core/evolve.ts';
import type { RefusalReason } from '../../src/core/refusal.ts';
import { newSession, type Session } from '../../src/core/session.ts';
import { CALL_ID } from './commands.ts';

/** What an event of interest looks like: its kind, and the fields that matter. */
export interface Expected {
  readonly case: string;
  readonly value: object;
}

export interface When {
  /** The session after the command. */
  readonly session: Session;
  /** The call after the command. */
  readonly call: Call;
  readonly events: readonly SessionEvent[];
  /** The command led to exactly these events. */
  leadsTo(...expected: readonly Expected[]): When;
  /** The worker or the caller is told this about its answer. */
  answered(verdict: AnswerVerdict): When;
  refused(reason: RefusalReason): When;
}

export interface Given {
  readonly session: Session;
  readonly call: Call;
  when(command: Command): When;
}

/** A session in which these commands have been accepted, in order. */
export function given(...history: readonly Command[]): Given {
  return asGiven(history.reduce(advance, newSession('call:c1')));
}

function asGiven(session: Session): Given {
  return {
    session,
    get call() {
      return theCall(session);
    },
    when: (command) => when(session, decide(session, command)),
  };
}

function when(before: Session, decided: Decided): When {
  const events = decided.kind === 'accepted' ? decided.events : [];
  const session = events.reduce(evolve, before);
  const self: When = {
    session,
    events,
    get call() {
      return theCall(session);
    },
    leadsTo(...expected) {
      expect(decided).toMatchObject({ kind: 'accepted' });
      expect(events.map(({ kind }) => kind)).toMatchObject(expected);
      return self;
    },
    answered(verdict) {
      expect(decided).toMatchObject({ kind: 'accepted', answer: { verdict } });
      return self;
    },
    refused(reason) {
      expect(decided).toMatchObject({ kind: 'refused', refusal: { reason } });
      return self;
    },
  };
  return self;
}

/** The session after a command that must be accepted. */
export function advance(session: Session, command: Command): Session {
  const decided = decide(session, command);
  if (decided.kind === 'refused') {
    throw new Error(`given ${command.kind}: ${decided.refusal.reason}: ${decided.refusal.message}`);
  }
  return decided.events.reduce(evolve, session);
}

function theCall(session: Session): Call {
  const call = session.calls.get(CALL_ID);
  if (call === undefined) throw new Error(`there is no call ${CALL_ID}`);
  return call;
}
