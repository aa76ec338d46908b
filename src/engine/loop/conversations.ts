import { create } from '@bufbuild/protobuf';
import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import type { Caller } from '../../../gen/spindle/v1/call_pb.ts';
import type { ChatMessage } from '../../../gen/spindle/v1/message_pb.ts';
import {
  type CreateSessionRequest,
  type GetTurnResponse,
  GetTurnResponseSchema,
  type ListSessionsRequest,
  type ListSessionsResponse,
  ListSessionsResponseSchema,
  type ResumeInterruptRequest,
  type Session as SessionMessage,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import { agentBeyond } from '../../core/agent-rights.ts';
import {
  DEFAULT_SESSIONS,
  MAX_METADATA_BYTES,
  MAX_METADATA_ENTRIES,
  MAX_PAGE_SIZE,
  MAX_SESSIONS_IN_MEMORY,
} from '../../core/limits.ts';
import { jsonFault } from '../../core/loop/agent-config.ts';
import type { Conversation } from '../../core/loop/conversation.ts';
import { accepted, type Outcome, refused } from '../../core/refusal.ts';
import { seesTenant } from '../../core/rights.ts';
import { DIRECT_CALL_PREFIX } from '../../core/session.ts';
import type { Shared } from '../engine.ts';
import type { SessionKey } from '../ports.ts';
import { idFault } from '../request.ts';
import type { SessionFollower } from '../watchers.ts';
import { configFault } from './decision-content.ts';
import { followSession } from './follow.ts';
import { createOpening, send, sessionNotFound } from './opening.ts';
import { sessionMessage } from './session-message.ts';
import { createTurns, type StartedTurn, type TurnRequest } from './turns.ts';

/** Conversations, as clients make and follow them. A fault of the journal is a refusal; promises reject for bugs alone. */
export interface Conversations {
  create(
    caller: Caller,
    request: CreateSessionRequest,
    ancestry?: readonly string[],
  ): Promise<Outcome<SessionMessage>>;
  get(caller: Caller, sessionId: string): Promise<Outcome<SessionState>>;
  list(caller: Caller, request: ListSessionsRequest): Promise<Outcome<ListSessionsResponse>>;
  startTurn(caller: Caller, request: TurnRequest): Promise<Outcome<StartedTurn>>;
  /** Of a session, or of a direct call: every event after a sequence, in order and without a gap, then what happens, until the result is called. */
  follow(
    caller: Caller,
    sessionId: string,
    afterSequence: number,
    follower: SessionFollower,
  ): Promise<Outcome<() => void>>;
  turn(caller: Caller, sessionId: string, turnId: string): Promise<Outcome<GetTurnResponse>>;
  /** Whether the interrupt had been answered before. */
  resume(caller: Caller, request: ResumeInterruptRequest): Promise<Outcome<boolean>>;
  /** The turn that was stopped; empty where none was running. */
  cancelTurn(caller: Caller, sessionId: string, turnId: string, reason: string): Promise<Outcome<string>>;
  remove(caller: Caller, sessionId: string): Promise<Outcome<void>>;
}

export interface SessionState {
  readonly session: SessionMessage;
  readonly messages: readonly ChatMessage[];
  readonly stateJson: string;
}

export function createConversations(shared: Shared): Conversations {
  const { options, sessions } = shared;
  const { open, openAny, read } = createOpening(shared);
  const { clock, random, schemas, journal, workers } = options;

  /** The configuration of a new session: its own, the newest that a worker binds, or the deployment's. */
  const configOf = (
    tenant: string,
    agentId: string,
    given: AgentConfig | undefined,
  ): Outcome<AgentConfig | undefined> => {
    const binding = workers.binding(tenant, agentId);
    const agent = given ?? binding?.config ?? options.agents?.get(agentId);
    if (agent !== undefined) {
      const fault = configFault(schemas, agent);
      return fault === undefined ? accepted(agent) : refused('invalid_request', fault);
    }
    // A worker decides session.start, and brings one.
    if (binding?.triggers.has('session.start')) return accepted(undefined);
    const message =
      `no agent is called ${JSON.stringify(agentId)}: no connected worker binds it, the engine's configuration ` +
      'has no [agents] entry for it, and the request brings no configuration';
    return refused('agent_not_found', message, { agent_id: agentId });
  };

  const conversations: Conversations = {
    async create(caller, request, ancestry = []) {
      const fault = createFault(request);
      if (fault !== undefined) return refused('invalid_request', fault);
      if (shared.stopping !== undefined) return { ok: false, refusal: shared.stopping };
      const sessionId = request.sessionId === '' ? random.token() : request.sessionId;
      const key: SessionKey = { tenant: caller.tenant, sessionId };
      const existing = request.sessionId === '' ? undefined : await sessions.open(key);
      if (existing === undefined && sessions.count(key.tenant) >= MAX_SESSIONS_IN_MEMORY)
        return refused(
          'overloaded',
          `${MAX_SESSIONS_IN_MEMORY} sessions of this tenant are active, which is the limit`,
        );
      const beyond = request.agent && agentBeyond(caller, request.agent);
      if (beyond !== undefined) return refused('not_permitted', beyond);
      // One that is not in the journal yet may never be: then this request is the one that creates it.
      const isRecorded = existing !== undefined && existing.session.sequence > 0;
      const config = isRecorded ? accepted(undefined) : configOf(key.tenant, request.agentId, request.agent);
      if (!config.ok) return config;
      const place = isRecorded ? undefined : options.quotas?.keep(caller);
      if (place?.ok === false) return place;
      const head = { kind: 'session', name: request.agentId, subject: caller.subject } as const;
      const runner = existing ?? sessions.live(key) ?? sessions.fresh(key, head);
      const command = {
        kind: 'create',
        at: clock.now(),
        agentId: request.agentId,
        tenant: key.tenant,
        subject: caller.subject,
        ancestry,
        metadata: request.metadata,
        agent: config.value,
      } as const;
      const done = await send(runner, command, place?.value);
      // The first append conflicts where the journal knows the id already.
      if (!done.ok && done.refusal.reason === 'session_moved' && existing === undefined) {
        const known = await read(caller, sessionId);
        return known.ok ? accepted(sessionMessage(known.value.session, known.value.conversation)) : known;
      }
      if (!done.ok) return done;
      sessions.release(runner);
      const { conversation } = done.value.session;
      return conversation === undefined
        ? sessionNotFound(sessionId)
        : accepted(sessionMessage(done.value.session, conversation));
    },

    async get(caller, sessionId) {
      const found = await read(caller, sessionId);
      if (!found.ok) return found;
      const { session, conversation } = found.value;
      const { messages, stateJson } = conversation;
      return accepted({ session: sessionMessage(session, conversation), messages, stateJson });
    },

    async list(caller, { pageSize, pageToken, onlyWaiting }) {
      if (pageSize > MAX_PAGE_SIZE)
        return refused('invalid_request', `page_size must be at most ${MAX_PAGE_SIZE}`);
      const page = await journal.list({
        tenant: caller.tenant,
        kind: 'session',
        subject: seesTenant(caller) ? undefined : caller.subject,
        onlyUnfinished: onlyWaiting,
        limit: pageSize === 0 ? DEFAULT_SESSIONS : pageSize,
        ...(pageToken === '' ? {} : { cursor: pageToken }),
      });
      if (page === undefined)
        return refused('invalid_request', 'page_token is not from an answer to this request');
      const listed: SessionMessage[] = [];
      for (const sessionId of page.sessionIds) {
        const found = await read(caller, sessionId).catch((error: unknown) => {
          // One damaged session must not hide the others.
          if (shared.refuse(error)?.reason !== 'session_damaged') throw error;
          return undefined;
        });
        if (!found?.ok) continue;
        const message = sessionMessage(found.value.session, found.value.conversation);
        if (!onlyWaiting || message.openItems.length > 0) listed.push(message);
      }
      return accepted(
        create(ListSessionsResponseSchema, { sessions: listed, nextPageToken: page.nextCursor ?? '' }),
      );
    },

    startTurn: createTurns(shared, { open }),

    async follow(caller, sessionId, afterSequence, follower) {
      const runner = await openAny(caller, sessionId);
      return runner.ok ? followSession(shared, runner.value, afterSequence, follower) : runner;
    },

    async turn(caller, sessionId, turnId) {
      const found = await read(caller, sessionId);
      if (!found.ok) return found;
      const record = found.value.conversation.turns.get(turnId);
      if (record === undefined)
        return refused('turn_not_found', `there is no turn ${JSON.stringify(turnId)}`, { turn_id: turnId });
      const { afterSequence, queued, ended } = record;
      const message = create(GetTurnResponseSchema, { turnAfterSequence: afterSequence, queued });
      if (ended !== undefined) message.ended = withAnswer(ended, found.value.conversation);
      return accepted(message);
    },

    async resume(caller, { sessionId, interruptId, payloadJson, denyReason }) {
      const fault = idFault('interrupt_id', interruptId) ?? jsonFault('payload_json', payloadJson, 'any');
      if (fault !== undefined) return refused('invalid_request', fault);
      const runner = await openAny(caller, sessionId);
      if (!runner.ok) return runner;
      const done = await send(runner.value, {
        kind: 'resume',
        at: clock.now(),
        interruptId,
        payloadJson,
        denyReason,
      });
      sessions.letGo(runner.value);
      return done.ok ? accepted(!done.value.changed) : done;
    },

    async cancelTurn(caller, sessionId, turnId, reason) {
      const found = await open(caller, sessionId);
      if (!found.ok) return found;
      const { runner, conversation } = found.value;
      const id = turnId === '' ? (conversation.turn?.turnId ?? '') : turnId;
      const command = {
        kind: 'cancel_turn',
        at: clock.now(),
        turnId: id,
        reason: reason.slice(0, 1_000),
      } as const;
      const done = id === '' ? undefined : await send(runner, command);
      sessions.letGo(runner);
      if (done === undefined) return accepted('');
      return done.ok ? accepted(done.value.changed ? id : '') : done;
    },

    async remove(caller, sessionId) {
      const found = await open(caller, sessionId);
      if (!found.ok) return found;
      const { runner, conversation } = found.value;
      const busy = conversation.turn !== undefined || conversation.queue.length > 0 || !runner.isIdle;
      if (busy) {
        sessions.letGo(runner);
        const turnId = conversation.turn?.turnId ?? '';
        return refused('turn_already_active', 'a turn of the session is running; cancel it first', {
          turn_id: turnId,
        });
      }
      // Whoever comes now finds it gone, here and in the journal.
      runner.abandon(sessionNotFound(sessionId).refusal);
      sessions.drop(runner);
      const { removed } = await journal.prune({ session: runner.key });
      if (removed.length > 0) options.quotas?.kept(runner.key.tenant, runner.head.subject, -1);
      return accepted(undefined);
    },
  };

  return guardAll(conversations, shared);
}

/** Where the journal or the blob store has a fault, the answer is a refusal. */
function guardAll(conversations: Conversations, { refuse }: Shared): Conversations {
  const guard =
    <A extends readonly unknown[], T>(run: (...args: A) => Promise<Outcome<T>>) =>
    async (...args: A): Promise<Outcome<T>> => {
      try {
        return await run(...args);
      } catch (error) {
        const refusal = refuse(error);
        if (refusal === undefined) throw error;
        return { ok: false, refusal };
      }
    };
  return {
    create: guard(conversations.create),
    get: guard(conversations.get),
    list: guard(conversations.list),
    startTurn: guard(conversations.startTurn),
    follow: guard(conversations.follow),
    turn: guard(conversations.turn),
    resume: guard(conversations.resume),
    cancelTurn: guard(conversations.cancelTurn),
    remove: guard(conversations.remove),
  };
}

function createFault({ sessionId, agentId, metadata }: CreateSessionRequest): string | undefined {
  if (sessionId.startsWith(DIRECT_CALL_PREFIX))
    return `session_id: ${DIRECT_CALL_PREFIX} is kept for direct calls`;
  const entries = Object.entries(metadata);
  if (entries.length > MAX_METADATA_ENTRIES)
    return `metadata has ${entries.length} entries; at most ${MAX_METADATA_ENTRIES} are possible`;
  const bytes = entries.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  );
  if (bytes > MAX_METADATA_BYTES) return `metadata is larger than ${MAX_METADATA_BYTES} bytes`;
  return (sessionId === '' ? undefined : idFault('session_id', sessionId)) ?? idFault('agent_id', agentId);
}

/** The end of a turn with its answer, which the log names by its id alone (7.5). */
function withAnswer(ended: NonNullable<GetTurnResponse['ended']>, { messages }: Conversation) {
  const { outcome } = ended;
  if (outcome.case !== 'finished') return ended;
  const answer = messages.findLast(({ id }) => id === outcome.value.answer?.id);
  if (answer === undefined) return ended;
  return { ...ended, outcome: { case: 'finished' as const, value: { ...outcome.value, answer } } };
}
