import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Session } from '../core/session.ts';
import type { Leave, Quotas } from './ports.ts';
import type { SessionRunner } from './session-runner.ts';

/**
 * Counts for limits what is on record. Whoever asks for a call, a turn or a session has a place from then on until it
 * is answered; in the same step the record's own place begins, which lasts until the log says that it has ended. So
 * no place is counted twice or left behind, also where a promise is between.
 */
export interface InFlight {
  /** A session as it stands after an append, or as it was read from the journal. */
  standing(runner: SessionRunner): void;
  /** The first append of a session. */
  created(runner: SessionRunner): void;
  /** The session is not in memory any more. */
  left(runner: SessionRunner): void;
}

interface Place {
  readonly id: string;
  readonly leave: Leave;
}

/** Undefined where nothing is limited: then counting costs nothing. */
export function createInFlight(quotas: Quotas | undefined): InFlight | undefined {
  if (quotas === undefined) return undefined;
  const places = new Map<SessionRunner, readonly Place[]>();
  return {
    standing(runner) {
      const { tenant } = runner.key;
      const before = places.get(runner) ?? NONE;
      const running = begunIn(runner.session);
      if (before.length === 0 && running.length === 0) return;
      for (const { id, leave } of before) if (!running.some((begun) => begun.id === id)) leave();
      if (running.length === 0) {
        places.delete(runner);
        return;
      }
      const after = running.map(
        ({ id, caller }) =>
          before.find((place) => place.id === id) ?? { id, leave: quotas.hold({ ...caller, tenant }) },
      );
      places.set(runner, after);
    },
    created({ key, head }) {
      if (head.kind === 'session') quotas.kept(key.tenant, head.subject, 1);
    },
    left(runner) {
      for (const { leave } of places.get(runner) ?? NONE) leave();
      places.delete(runner);
    },
  };
}

const NONE: readonly Place[] = [];

interface Begun {
  readonly id: string;
  readonly caller: Caller;
}

/** A direct call, or turns, that have not ended. What a turn calls, subagents too, is part of the turn. */
function begunIn({ calls, conversation }: Session): readonly Begun[] {
  if (conversation === undefined) {
    const begun: Begun[] = [];
    for (const { callId, caller, phase } of calls.values())
      if (caller !== undefined && phase.kind !== 'finished') begun.push({ id: callId, caller });
    return begun;
  }
  if (conversation.ancestry.length > 0) return [];
  const { turn, queue } = conversation;
  const turns = turn === undefined ? queue : [turn, ...queue];
  return turns.flatMap(({ turnId, origin: { caller } }) =>
    caller === undefined ? [] : [{ id: turnId, caller }],
  );
}
