import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import { evolve } from '../core/evolve.ts';
import { isUnfinished } from '../core/owed.ts';
import { newSession, type Session } from '../core/session.ts';
import { TransientMap } from '../core/transient-map.ts';
import type { Journal, Recorder, SessionHead, SessionKey } from './ports.ts';
import { type RunnerOptions, SessionRunner } from './session-runner.ts';

/** The sessions that are in memory: those that owe something, and those that somebody is about to read. */
export interface Sessions {
  /** The runner of a session that is in memory. */
  live(key: SessionKey): SessionRunner | undefined;
  /** A runner for a session that nothing is known of. If it exists after all, its first append conflicts. */
  fresh(key: SessionKey, head: Omit<SessionHead, 'unfinished'>): SessionRunner;
  /** The runner of any session; undefined where there is none. Rejects with a JournalFault. */
  open(key: SessionKey): Promise<SessionRunner | undefined>;
  /** As `open`, for somebody who is about to use it: it stays in memory until `letGo`. Rejects with a JournalFault. */
  hold(key: SessionKey): Promise<SessionRunner | undefined>;
  letGo(runner: SessionRunner): void;
  /** A session for reading alone. Rejects with a JournalFault. */
  read(key: SessionKey): Promise<Session | undefined>;
  /** Takes a runner out of memory, unless it still has something to do. */
  release(runner: SessionRunner): void;
  /** Takes a runner out of memory, whatever it has to do: its session is somebody else's now. */
  drop(runner: SessionRunner): void;
  all(): Iterable<SessionRunner>;
  count(tenant: string): number;
}

export interface SessionsOptions {
  readonly journal: Journal;
  readonly recorder?: Recorder | undefined;
  readonly runner: RunnerOptions;
}

interface Loaded {
  readonly session: Session;
  /** Its log, where a recorder wants to hear it. */
  readonly events: readonly SessionEvent[];
}

export function createSessions({ journal, recorder, runner: runnerOptions }: SessionsOptions): Sessions {
  /** By tenant, then by session. */
  const tenants = new Map<string, TransientMap<string, SessionRunner>>();
  const loading = new Map<string, Promise<Loaded | undefined>>();

  const live = ({ tenant, sessionId }: SessionKey): SessionRunner | undefined =>
    tenants.get(tenant)?.get(sessionId);

  const add = (key: SessionKey, head: Omit<SessionHead, 'unfinished'>, session: Session): SessionRunner => {
    const runner = new SessionRunner(runnerOptions, key, head, session);
    const runners = tenants.get(key.tenant) ?? new TransientMap<string, SessionRunner>();
    tenants.set(key.tenant, runners);
    runners.set(key.sessionId, runner);
    return runner;
  };

  const drop = (runner: SessionRunner): void => {
    const { tenant, sessionId } = runner.key;
    const runners = tenants.get(tenant);
    if (runners?.get(sessionId) !== runner) return;
    runners.delete(sessionId);
    runnerOptions.inFlight?.left(runner);
    recorder?.dropped?.(runner.key);
    if (runners.size === 0) tenants.delete(tenant);
  };

  const replay = async (key: SessionKey): Promise<Loaded | undefined> => {
    let session = newSession(key.sessionId);
    const events: SessionEvent[] = [];
    for await (const event of journal.read(key, 0)) {
      session = evolve(session, event);
      if (recorder?.replayed !== undefined) events.push(event);
    }
    return session.sequence === 0 ? undefined : { session, events };
  };

  /** Reads that come at the same time read once. */
  const load = (key: SessionKey): Promise<Loaded | undefined> => {
    const name = nameOf(key);
    const running = loading.get(name);
    if (running !== undefined) return running;
    const started = replay(key).finally(() => loading.delete(name));
    loading.set(name, started);
    return started;
  };

  const open = async (key: SessionKey): Promise<SessionRunner | undefined> => {
    const loaded = live(key) === undefined ? await load(key) : undefined;
    const runner = live(key);
    if (runner !== undefined) return runner;
    if (loaded === undefined) return undefined;
    recorder?.replayed?.(key, loaded.events);
    const added = add(key, headOf(loaded.session), loaded.session);
    runnerOptions.inFlight?.standing(added);
    return added;
  };

  const release = (runner: SessionRunner): void => {
    const isUsed = runner.holds > 0 || !runner.isIdle || runner.isWatched;
    if (!isUsed && !isUnfinished(runner.session)) drop(runner);
  };

  return {
    live,
    fresh: (key, head) => add(key, head, newSession(key.sessionId)),
    open,
    async hold(key) {
      // Whoever has just been told of the runner may still be about to use it when another lets it go.
      for (;;) {
        const runner = await open(key);
        if (runner === undefined) return undefined;
        if (live(key) !== runner) continue;
        runner.holds += 1;
        return runner;
      }
    },
    letGo(runner) {
      runner.holds -= 1;
      release(runner);
    },
    async read(key) {
      const runner = live(key);
      return runner !== undefined && runner.session.sequence > 0
        ? runner.session
        : (await load(key))?.session;
    },
    release,
    drop,
    *all() {
      for (const runners of tenants.values()) yield* runners.values();
    },
    count: (tenant) => tenants.get(tenant)?.size ?? 0,
  };
}

function nameOf({ tenant, sessionId }: SessionKey): string {
  return `${tenant}\n${sessionId}`;
}

/** What the first append said about a session, from its log. */
function headOf(session: Session): Omit<SessionHead, 'unfinished'> {
  const { conversation } = session;
  if (conversation !== undefined)
    return { kind: 'session', name: conversation.agentId, subject: conversation.subject };
  const [call] = session.calls.values();
  return { kind: 'call', name: call?.name ?? '', subject: call?.caller?.subject ?? '' };
}
