import { create, toBinary } from '@bufbuild/protobuf';
import {
  type Caller,
  type Call as CallMessage,
  CallSchema,
  CallStatus,
} from '../../gen/spindle/v1/call_pb.ts';
import type { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type {
  CallToolRequest,
  ListCallsRequest,
  SettleCallRequest,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { type Call, lastLease } from '../core/call.ts';
import { DEFAULT_CALLS, MAX_PAGE_SIZE, MAX_RESULT_BYTES, MESSAGE_OVERHEAD_BYTES } from '../core/limits.ts';
import { accepted, type Outcome, refused } from '../core/refusal.ts';
import { seesTenant } from '../core/rights.ts';
import { directCallOf, directCallSession, type Session } from '../core/session.ts';
import { standingOf } from '../core/settler.ts';
import { readFailure, readResult } from './answers.ts';
import type { Shared } from './engine.ts';
import type { SessionKey } from './ports.ts';
import { idFault } from './request.ts';
import { attach, createRequests } from './requests.ts';
import type { Done, SessionRunner } from './session-runner.ts';
import { callMessage } from './updates.ts';
import type { CallWatcher } from './watchers.ts';

/** Which call: of a session, or a direct one where the session is empty. */
export interface CallRef {
  readonly sessionId: string;
  readonly callId: string;
}

/** Calls, as clients make and follow them. A fault of the journal is a refusal; promises reject for bugs alone. */
export interface Calls {
  /**
   * Makes a call, or joins the one that has the same id (4.12). The watcher hears what happens, or is told
   * with `lost` that the request was refused. The result ends the watching, and nothing else (4.10).
   */
  request(caller: Caller, request: CallToolRequest, watcher: CallWatcher): () => void;
  /** Follows a call from now on; the first update is the newest so far. */
  watch(caller: Caller, ref: CallRef, watcher: CallWatcher): Promise<Outcome<() => void>>;
  get(caller: Caller, ref: CallRef): Promise<Outcome<CallMessage>>;
  list(
    caller: Caller,
    request: ListCallsRequest,
  ): Promise<Outcome<{ calls: CallMessage[]; nextPageToken: string }>>;
  settle(caller: Caller, request: SettleCallRequest): Promise<Outcome<AnswerVerdict>>;
  cancel(caller: Caller, ref: CallRef, reason: string): Promise<Outcome<CallMessage>>;
}

export function createCalls(shared: Shared): Calls {
  const { options, sessions, definitions } = shared;
  const { clock, random, schemas, journal, blobs } = options;

  /** The call that a caller may see. Somebody else's is as unknown as one that does not exist (9.3). */
  const visible = (session: Session | undefined, caller: Caller, { callId }: CallRef): Outcome<Call> => {
    const call = session?.calls.get(callId);
    const own = call?.caller?.subject === caller.subject;
    if (call !== undefined && (own || seesTenant(caller))) return accepted(call);
    return notFound(callId);
  };

  /** The call that a caller may settle, or why it may not (4.9). */
  const settleable: typeof visible = (session, caller, { callId }) => {
    const call = session?.calls.get(callId);
    const standing = call === undefined ? 'stranger' : standingOf(caller, call);
    if (call !== undefined && standing === 'settler') return accepted(call);
    if (standing === 'onlooker') return refused('not_permitted', ANOTHER_SETTLES, { call_id: callId });
    return notFound(callId);
  };

  const open = async (caller: Caller, ref: CallRef, mayFind = visible): Promise<Outcome<SessionRunner>> => {
    const key = keyOf(caller, ref);
    const fault = idFault('call_id', ref.callId);
    if (fault !== undefined) return refused('invalid_request', fault);
    let runner = await sessions.hold(key);
    if (runner?.session.sequence === 0) {
      // Its request is on the way to the journal; what comes behind that in the mailbox finds it there, or refused.
      await send(runner, { kind: 'tick', at: clock.now(), draw: random.draw(), heard: runner.heard });
      sessions.letGo(runner);
      runner = await sessions.hold(key);
    }
    const call = mayFind(runner?.session, caller, ref);
    if (call.ok && runner !== undefined) return accepted(runner);
    if (runner !== undefined) sessions.letGo(runner);
    return call.ok ? refused('call_not_found', 'there is no such call') : call;
  };

  const read = async (caller: Caller, ref: CallRef): Promise<Outcome<CallMessage>> => {
    const fault = idFault('call_id', ref.callId);
    if (fault !== undefined) return refused('invalid_request', fault);
    const key = keyOf(caller, ref);
    const call = visible(await sessions.read(key), caller, ref);
    return call.ok ? accepted(callMessage(key.sessionId, call.value, clock.now())) : call;
  };

  /**
   * One damaged call must not hide the others of a list. What leads to a call has no checksum, and its log has one:
   * a call is listed only for those that its log names.
   */
  const listed = async (
    key: SessionKey,
    subject: string | undefined,
    name = '',
  ): Promise<CallMessage | undefined> => {
    try {
      const [call] = (await sessions.read(key))?.calls.values() ?? [];
      if (call === undefined || (subject !== undefined && call.caller?.subject !== subject)) return undefined;
      return name === '' || call.name === name ? callMessage(key.sessionId, call, clock.now()) : undefined;
    } catch (error) {
      if (shared.refuse(error)?.reason !== 'session_damaged') throw error;
      return damagedCall(key.sessionId);
    }
  };

  const unguarded: Calls = {
    request: createRequests(shared),

    async watch(caller, ref, watcher) {
      const found = await open(caller, ref);
      if (!found.ok) return found;
      const runner = found.value;
      attach(runner, ref.callId, watcher, clock.now());
      sessions.letGo(runner);
      return accepted(() => runner.unwatch(watcher));
    },

    get: read,

    async list(caller, { pageSize, pageToken, onlyUnfinished, name }) {
      if (pageSize > MAX_PAGE_SIZE)
        return refused('invalid_request', `page_size must be at most ${MAX_PAGE_SIZE}`);
      const { tenant } = caller;
      const subject = seesTenant(caller) ? undefined : caller.subject;
      const query = {
        tenant,
        kind: 'call',
        subject,
        onlyUnfinished,
        limit: pageSize === 0 ? DEFAULT_CALLS : pageSize,
        ...(name === '' ? {} : { name }),
        ...(pageToken === '' ? {} : { cursor: pageToken }),
      } as const;
      const page = await journal.list(query);
      if (page === undefined)
        return refused('invalid_request', 'page_token is not from an answer to this request');
      const calls: CallMessage[] = [];
      let bytes = 0;
      for (const [index, sessionId] of page.sessionIds.entries()) {
        const message = await listed({ tenant, sessionId }, subject, name);
        if (message === undefined) continue;
        bytes += toBinary(CallSchema, message).byteLength + MESSAGE_OVERHEAD_BYTES;
        // A page that no reader could take ends early. Its cursor is that of the shorter one.
        if (bytes > MAX_RESULT_BYTES && index > 0) {
          const shorter = await journal.list({ ...query, limit: index });
          return accepted({ calls, nextPageToken: shorter?.nextCursor ?? '' });
        }
        calls.push(message);
      }
      return accepted({ calls, nextPageToken: page.nextCursor ?? '' });
    },

    async settle(caller, { sessionId, callId, attempt, outcome }) {
      const found = await open(caller, { sessionId, callId }, settleable);
      if (!found.ok) return found;
      const runner = found.value;
      const call = runner.session.calls.get(callId);
      if (outcome.case === undefined || call === undefined) {
        sessions.letGo(runner);
        return refused('invalid_request', 'outcome must be a result or an error');
      }
      const { tenant } = runner.key;
      const definition = await definitions.load(tenant, lastLease(call)?.toolDigest || call.toolDigest);
      const answer =
        outcome.case === 'error'
          ? ({ kind: 'failure', failure: readFailure(outcome.value) } as const)
          : await readResult(outcome.value, { schemas, blobs, tenant, definition });
      if (answer.kind === 'unfit') {
        sessions.letGo(runner);
        return refused('invalid_request', answer.reason);
      }
      const done = await send(runner, { kind: 'settle', at: clock.now(), callId, attempt, answer });
      sessions.letGo(runner);
      if (!done.ok) return done;
      return done.value.answer === undefined
        ? refused('internal', 'the answer got no verdict')
        : accepted(done.value.answer.verdict);
    },

    async cancel(caller, ref, reason) {
      const found = await open(caller, ref);
      if (!found.ok) return found;
      const { callId } = ref;
      const done = await send(found.value, {
        kind: 'cancel',
        at: clock.now(),
        callId,
        reason: reason.slice(0, 1_000),
      });
      sessions.letGo(found.value);
      if (!done.ok) return done;
      const call = done.value.session.calls.get(callId);
      return call === undefined
        ? refused('call_not_found', 'there is no such call')
        : accepted(callMessage(found.value.key.sessionId, call, clock.now()));
    },
  };

  /** Answers with a refusal where the journal or the blob store has a fault. */
  const guarded =
    <A extends readonly unknown[], T>(run: (...args: A) => Promise<Outcome<T>>) =>
    async (...args: A): Promise<Outcome<T>> => {
      try {
        return await run(...args);
      } catch (error) {
        const refusal = shared.refuse(error);
        if (refusal === undefined) throw error;
        return { ok: false, refusal };
      }
    };

  return {
    request: unguarded.request,
    watch: guarded(unguarded.watch),
    get: guarded(unguarded.get),
    list: guarded(unguarded.list),
    settle: guarded(unguarded.settle),
    cancel: guarded(unguarded.cancel),
  };
}

const ANOTHER_SETTLES =
  'the call waits for somebody else: a deferred one for a worker of its tool or an operator, a client-side one for its owner';

function notFound(callId: string) {
  return refused('call_not_found', `there is no call ${JSON.stringify(callId)}`, { call_id: callId });
}

/** What a list says of a call whose record cannot be read: its id, and no claim about what it did (7.4). */
function damagedCall(sessionId: string): CallMessage {
  const callId = directCallOf(sessionId);
  return create(CallSchema, {
    sessionId: callId === undefined ? sessionId : '',
    callId: callId ?? '',
    status: CallStatus.DAMAGED,
  });
}

function keyOf(caller: Caller, { sessionId, callId }: CallRef): SessionKey {
  return { tenant: caller.tenant, sessionId: sessionId === '' ? directCallSession(callId) : sessionId };
}

function send(runner: SessionRunner, command: Parameters<SessionRunner['send']>[0]): Promise<Outcome<Done>> {
  return new Promise((resolve) => runner.send(command, resolve));
}
