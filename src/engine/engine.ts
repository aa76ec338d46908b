import { hash } from 'node:crypto';
import type { AgentConfig } from '../../gen/spindle/v1/agent_pb.ts';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { RetryPolicies } from '../../gen/spindle/v1/retry_pb.ts';
import { digestOfUri } from '../core/blob-uri.ts';
import type { Call } from '../core/call.ts';
import { RESUME_GRACE_MS } from '../core/limits.ts';
import { nearestNames } from '../core/nearest-names.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import type { Instant, Millis } from '../core/time.ts';
import type { Schemas } from '../schema/schemas.ts';
import { type Alarms, createAlarms } from './alarms.ts';
import { createAppends } from './appends.ts';
import { type Calls, createCalls } from './calls.ts';
import { createDefinitions, type Definitions } from './definitions.ts';
import { createEffects } from './effects.ts';
import { createInFlight } from './in-flight.ts';
import { hasNoRoom } from './journal-fault.ts';
import { type ConversationEffects, createConversationEffects } from './loop/conversation-effects.ts';
import { type Conversations, createConversations } from './loop/conversations.ts';
import type {
  Blobs,
  Clock,
  Connectors,
  Journal,
  Models,
  Observer,
  Quotas,
  Random,
  Recorder,
  SessionKey,
  Workers,
} from './ports.ts';
import { recoverSessions } from './recovery.ts';
import { createRefuse, JOURNAL_FAILED, type Refuse } from './refuse.ts';
import { unknownTool } from './request.ts';
import { createRetention } from './retention.ts';
import type { SessionRunner } from './session-runner.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { createTools, type Tools } from './tools.ts';
import { createWaitingCalls, type Waiter, type WaitingCalls } from './waiting.ts';
import { listenToWorkers } from './worker-events.ts';

export interface EngineOptions {
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly random: Random;
  readonly workers: Workers;
  readonly schemas: Schemas;
  readonly observer: Observer;
  /** Who makes the model calls of conversations. Without it, workers alone can. */
  readonly models?: Models | undefined;
  readonly connectors?: Connectors | undefined;
  /** Agents of the deployment, for sessions that no worker configures. */
  readonly agents?: ReadonlyMap<string, AgentConfig> | undefined;
  /** Agents that call their tools also for callers whose credentials do not name these (9.2). */
  readonly privilegedAgents?: ReadonlySet<string> | undefined;
  /** Makes spans and metrics of what is recorded. Without it, nobody does. */
  readonly recorder?: Recorder | undefined;
  /** The deployment's layers of the policy, between the engine's own and the tool's (4.1). */
  readonly policies?: RetryPolicies | undefined;
  /** How long recovered calls and names wait for their workers (5.8, 4.11). RESUME_GRACE_MS if not given. */
  readonly resumeGraceMs?: Millis | undefined;
  /** How long ended sessions are kept (4.12). Without it nothing is ever removed. */
  readonly retainMs?: Millis | undefined;
  /** What tenants and credentials may use; undefined: what the engine can bear. */
  readonly quotas?: Quotas | undefined;
  /** The journal cannot be trusted any more: the process should end, and be started again (7.4). */
  readonly failed: (error: unknown) => void;
}

export interface Engine {
  readonly calls: Calls;
  readonly conversations: Conversations;
  readonly tools: Tools;
  /** Calls that have not ended, as they stand. */
  unfinished(): Iterable<Call>;
  /** How many sessions are in memory: those that owe something, and those that somebody watches or is about to use. */
  sessionsInMemory(): number;
  /** The bytes of a blob reference's uri. Reading them may throw what `refuse` knows. */
  readBlob(caller: Caller, uri: string): Promise<Outcome<AsyncIterable<Uint8Array>>>;
  /** What a caller is told of a fault that it met while it read a blob; undefined for what is none. */
  readonly refuse: Refuse;
  /** Takes up every unfinished session of the journal (7.2). Before workers and clients connect. */
  recover(): Promise<void>;
  /**
   * Takes no more calls, and waits for running ones at most this long. Who still waits then is told that the
   * engine shuts down; the calls themselves go on after a restart.
   */
  drain(grace: Millis): Promise<void>;
}

/** What the parts of the engine share. */
export interface Shared {
  readonly options: EngineOptions;
  readonly sessions: Sessions;
  readonly conversations: Conversations;
  readonly definitions: Definitions;
  /** What a caller is told of a fault, of which the operator hears. */
  readonly refuse: Refuse;
  readonly waiting: WaitingCalls<Waiter & { readonly runner: SessionRunner }>;
  /** Set while the engine drains, or when it failed: new requests are refused with it. */
  stopping: Refusal | undefined;
  /** Until then unknown names may come back (4.11). */
  namesSettledAt: Instant;
}

/** The call's name for systems that deduplicate: the same for all its attempts, and never used for two (4.7). */
export function idempotencyKey({ tenant, sessionId }: SessionKey, { callId, requestedAt }: Call): string {
  // The time tells a call apart from an older one of the same id that is not retained any more.
  const identity = JSON.stringify([tenant, sessionId, callId, requestedAt]);
  return hash('sha256', identity, 'base64url').slice(0, 22);
}

export function buildEngine(options: EngineOptions): Engine {
  const { clock, random, journal, workers, observer } = options;
  const alarms: Alarms<SessionRunner> = createAlarms(clock, (runner) => runner.wake(random.draw()));
  let quiet: (() => void) | undefined;
  let refusedAt = Number.NEGATIVE_INFINITY;

  const isQuiet = (): boolean => {
    for (const { session } of sessions.all()) {
      for (const { phase } of session.calls.values()) if (phase.kind === 'dispatched') return false;
      // A model call that breaks off is made again, and paid for again.
      if (session.conversation?.turn?.model?.kind === 'calling') return false;
    }
    return true;
  };

  /** Nothing can be recorded any more, so nothing may be done (7.4). */
  const fail = (error: unknown): void => {
    if (shared.stopping === JOURNAL_FAILED) return;
    shared.stopping = JOURNAL_FAILED;
    observer.report('error', 'journal_failed', {
      error: error instanceof Error ? error.message : String(error),
    });
    options.failed(error);
  };
  const refuse = createRefuse(observer, fail);

  const sessions = createSessions({
    journal,
    recorder: options.recorder,
    runner: {
      clock,
      recorder: options.recorder,
      inFlight: createInFlight(options.quotas),
      append: createAppends(journal),
      perform: (runner, effect) => effects.perform(runner, effect),
      withdraw: (runner, name) => loop.withdraw(runner, name),
      deciders: (runner) => loop.deciders(runner),
      alarm: (runner, at) => alarms.set(runner, at),
      settled(runner) {
        stopWaiting(runner);
        sessions.release(runner);
        if (quiet !== undefined && isQuiet()) quiet();
      },
      dropped(runner, error) {
        for (const call of runner.session.calls.values()) leaveWaiting(runner, call);
        loop.drop(runner);
        sessions.drop(runner);
        if (error === undefined)
          return refused('session_moved', 'another engine owns this session now').refusal;
        const refusal = refuse(error);
        // A bug broke the append off, so what it left behind is unknown as well.
        if (refusal === undefined) fail(error);
        return refusal ?? JOURNAL_FAILED;
      },
      postponed(error) {
        if (!hasNoRoom(error)) return undefined;
        refusedAt = clock.now();
        return refuse(error);
      },
    },
  });

  const shared: Shared = {
    options,
    sessions,
    get conversations() {
      return conversations;
    },
    refuse,
    definitions: createDefinitions(options.blobs, options.schemas),
    waiting: createWaitingCalls(),
    stopping: undefined,
    namesSettledAt: clock.now() + RESUME_GRACE_MS,
  };
  const loop: ConversationEffects = createConversationEffects(shared);
  const effects = createEffects(shared, loop);
  const conversations: Conversations = createConversations(shared);

  /** Calls that ended while they waited for a worker need none any more. */
  const stopWaiting = (runner: SessionRunner): void => {
    for (const call of runner.session.calls.values()) {
      if (call.phase.kind === 'finished') leaveWaiting(runner, call);
    }
  };
  const leaveWaiting = ({ key: { tenant, sessionId } }: SessionRunner, { callId, name }: Call): void =>
    shared.waiting.remove(tenant, { sessionId, callId, toolName: name });
  const calls = createCalls(shared);
  listenToWorkers(shared, effects, loop);
  const retention =
    options.retainMs === undefined
      ? undefined
      : createRetention({
          ...options,
          retainMs: options.retainMs,
          inUse: (tenant, digest) =>
            shared.definitions.cached(tenant, digest) !== undefined || workers.knows(tenant, digest),
          refusedAt: () => refusedAt,
          refuse,
        });

  /** Calls of tools that nobody has declared by now will not run (4.11). */
  const settleNames = (): void => {
    const unknown = shared.waiting.withUnknownTool(
      (tenant, name) => workers.find(tenant, name) !== undefined,
    );
    loop.offer();
    for (const { runner, callId, toolName } of unknown) {
      const names = workers.served(runner.key.tenant).map(({ definition }) => definition.tool.name);
      const failure = unknownTool(toolName, nearestNames(names, toolName, 3));
      shared.waiting.remove(runner.key.tenant, { sessionId: runner.key.sessionId, callId, toolName });
      runner.send({ kind: 'disown', at: clock.now(), callId, failure }, () => undefined);
    }
  };

  return {
    calls,
    conversations,
    tools: createTools(workers),
    *unfinished() {
      for (const { session } of sessions.all()) {
        for (const call of session.calls.values()) if (call.phase.kind !== 'finished') yield call;
      }
    },
    sessionsInMemory: () => [...sessions.all()].length,
    async readBlob({ tenant }, uri) {
      const digest = digestOfUri(uri);
      if (digest === undefined)
        return refused('invalid_request', 'uri must be blob:sha256- and 64 hexadecimal digits');
      const chunks = await options.blobs.read(tenant, digest).catch((error: unknown) => {
        const refusal = refuse(error);
        if (refusal === undefined) throw error;
        return refusal;
      });
      if (chunks !== undefined && 'reason' in chunks) return { ok: false, refusal: chunks };
      return chunks === undefined
        ? refused('blob_not_found', 'there is no such blob', { uri })
        : accepted(chunks);
    },
    refuse,
    async recover() {
      const { quotas } = options;
      if (quotas?.limitsSessions)
        for (const { tenant, subject, sessions: kept } of await journal.tally())
          quotas.kept(tenant, subject, kept);
      await recoverSessions(shared, effects, loop.children, settleNames);
      retention?.start();
    },
    async drain(grace) {
      shared.stopping ??= refused('shutting_down', 'the engine shuts down; try again in a moment').refusal;
      if (!isQuiet()) {
        await new Promise<void>((resolve) => {
          const disarm = clock.alarm(clock.now() + grace, resolve);
          quiet = () => {
            disarm();
            resolve();
          };
        });
      }
      await retention?.stop();
      alarms.close();
      for (const runner of [...sessions.all()]) {
        loop.drop(runner);
        runner.abandon(shared.stopping);
      }
    },
  };
}
