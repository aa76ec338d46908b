import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { MAX_FOLLOWERS, MAX_QUEUED_UPDATES } from '../../core/limits.ts';
import { accepted, type Outcome, refused } from '../../core/refusal.ts';
import type { Session } from '../../core/session.ts';
import type { Shared } from '../engine.ts';
import type { SessionRunner } from '../session-runner.ts';
import type { SessionFollower } from '../watchers.ts';
import { publicEvent } from './session-message.ts';

/**
 * Follows a session from a cursor: first what the journal holds, then what happens, each event once and in order.
 * What happens while the journal is read waits, within bounds.
 */
export async function followSession(
  shared: Shared,
  runner: SessionRunner,
  afterSequence: number,
  follower: SessionFollower,
): Promise<Outcome<() => void>> {
  const { sessions, options } = shared;
  if (runner.followerCount >= MAX_FOLLOWERS) {
    sessions.letGo(runner);
    return refused('overloaded', `${MAX_FOLLOWERS} watchers follow this session, which is the limit`);
  }
  let told = afterSequence;
  let waiting: { events: readonly SessionEvent[]; session: Session }[] | undefined = [];
  let queued = 0;
  let stopped = false;

  const pass = (events: readonly SessionEvent[], session: Session): void => {
    const fresh = events.filter(({ sequence }) => sequence > told);
    const last = fresh.at(-1);
    if (last === undefined) return;
    told = last.sequence;
    follower.events(fresh.map(publicEvent), session);
  };

  const live: SessionFollower = {
    events(events, session) {
      if (waiting === undefined) pass(events, session);
      else if (queued + events.length > MAX_QUEUED_UPDATES) {
        stop();
        follower.lost(
          refused('overloaded', 'the session went on faster than its log was read; watch again').refusal,
        );
      } else {
        waiting.push({ events, session });
        queued += events.length;
      }
    },
    delta(delta) {
      // One that belongs between events which are still to come would only confuse.
      if (waiting === undefined) follower.delta(delta);
    },
    lost(refusal) {
      stopped = true;
      follower.lost(refusal);
    },
  };

  const stop = (): void => {
    if (stopped) return;
    stopped = true;
    runner.unfollow(live);
    sessions.letGo(runner);
  };

  const snapshot = runner.session;
  runner.follow(live);
  try {
    if (told < snapshot.sequence) {
      for await (const event of options.journal.read(runner.key, told)) {
        if (stopped) return accepted(stop);
        if (event.sequence <= snapshot.sequence) pass([event], snapshot);
        await follower.room?.();
      }
    }
  } catch (error) {
    stop();
    throw error;
  }
  const behind = waiting;
  waiting = undefined;
  for (const { events, session } of behind) pass(events, session);
  return accepted(stop);
}
