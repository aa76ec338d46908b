import { evolve } from '../core/evolve.ts';
import { MAX_ENDED_CALLS_CACHED } from '../core/limits.ts';
import { isUnfinished } from '../core/owed.ts';
import { newSession, type Session } from '../core/session.ts';
import type { Journal, SessionHead, SessionKey } from './ports.ts';
import { type RunnerOptions, SessionRunner } from './session-runner.ts';

/** The sessions that are in memory: those that owe something, and a few that ended lately. */
export interface Sessions {
  /** The runner of a session that is in memory. */
  live(key: SessionKey): SessionRunner | undefined;
  /** A runner for a session that nothing is known of. If it exists after all, its first append conflicts. */
  fresh(key: SessionKey, head: Omit<SessionHead, 'unfinished'>): SessionRunner;
  /** The runner of any session; undefined where there is none. Rejects with a JournalFault. */
  open(key: SessionKey): Promise<SessionRunner | undefined>;
  /** A session for reading alone. Rejects with a JournalFault. */
  read(key: SessionKey): Promise<Session | undefined>;
  /** Takes a runner out of memory, unless it still has something to do. */
  release(runner: SessionRunner): void;
  /** Takes a runner out of memory, with all that is known of its session: somebody else wrote. */
  drop(runner: SessionRunner): void;
  /** The journal has removed these: nothing that is remembered of them may answer for them (4.12). */
  pruned(keys: readonly SessionKey[]): void;
  all(): Iterable<SessionRunner>;
  count(tenant: string): number;
}

export interface SessionsOptions {
  readonly journal: Journal;
  readonly runner: Omit<RunnerOptions, 'key' | 'head'>;
}

export function createSessions({ journal, runner: runnerOptions }: SessionsOptions): Sessions {
  const runners = new Map<string, SessionRunner>();
  const counts = new Map<string, number>();
  /** Ended sessions, the longest unused first. */
  const ended = new Map<string, Session>();
  const loading = new Map<string, Promise<Session | undefined>>();

  const add = (key: SessionKey, head: Omit<SessionHead, 'unfinished'>, session: Session): SessionRunner => {
    const runner = new SessionRunner({ ...runnerOptions, key, head }, session);
    runners.set(nameOf(key), runner);
    counts.set(key.tenant, (counts.get(key.tenant) ?? 0) + 1);
    return runner;
  };

  const forget = (runner: SessionRunner): void => {
    const name = nameOf(runner.key);
    if (runners.get(name) !== runner) return;
    runners.delete(name);
    const count = (counts.get(runner.key.tenant) ?? 1) - 1;
    if (count > 0) counts.set(runner.key.tenant, count);
    else counts.delete(runner.key.tenant);
  };

  const remember = (key: SessionKey, session: Session): void => {
    const name = nameOf(key);
    ended.delete(name);
    ended.set(name, session);
    const [oldest] = ended.keys();
    if (ended.size > MAX_ENDED_CALLS_CACHED && oldest !== undefined) ended.delete(oldest);
  };

  const replay = async (key: SessionKey): Promise<Session | undefined> => {
    let session = newSession(key.sessionId);
    for await (const event of journal.read(key, 0)) session = evolve(session, event);
    return session.sequence === 0 ? undefined : session;
  };

  /** Reads that come at the same time read once. */
  const load = (key: SessionKey): Promise<Session | undefined> => {
    const name = nameOf(key);
    const known = ended.get(name);
    if (known !== undefined) return Promise.resolve(known);
    const running = loading.get(name);
    if (running !== undefined) return running;
    const started = replay(key).finally(() => loading.delete(name));
    loading.set(name, started);
    return started;
  };

  return {
    live: (key) => runners.get(nameOf(key)),
    fresh: (key, head) => add(key, head, newSession(key.sessionId)),
    async open(key) {
      const session = runners.has(nameOf(key)) ? undefined : await load(key);
      const live = runners.get(nameOf(key));
      if (live !== undefined) return live;
      return session === undefined ? undefined : add(key, headOf(session), session);
    },
    async read(key) {
      const live = runners.get(nameOf(key));
      if (live !== undefined && live.session.sequence > 0) return live.session;
      const session = await load(key);
      if (session !== undefined && !isUnfinished(session)) remember(key, session);
      return session;
    },
    release(runner) {
      if (!runner.isIdle || runner.isWatched || isUnfinished(runner.session)) return;
      forget(runner);
      if (runner.session.sequence > 0) remember(runner.key, runner.session);
    },
    drop(runner) {
      forget(runner);
      // A session that nothing was known of has been somebody's before; what is known of that one is right.
      if (runner.session.sequence > 0) ended.delete(nameOf(runner.key));
    },
    pruned(keys) {
      for (const key of keys) ended.delete(nameOf(key));
    },
    all: () => runners.values(),
    count: (tenant) => counts.get(tenant) ?? 0,
  };
}

function nameOf({ tenant, sessionId }: SessionKey): string {
  return `${tenant}\n${sessionId}`;
}

/** What the first append said about a session, from its log. */
function headOf(session: Session): Omit<SessionHead, 'unfinished'> {
  const [call] = session.calls.values();
  return { kind: 'call', name: call?.name ?? '', subject: call?.caller?.subject ?? '' };
}
