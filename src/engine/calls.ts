import type { Caller, Call as CallMessage } from '../../gen/spindle/v1/call_pb.ts';
import type { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type {
  CallToolRequest,
  ListCallsRequest,
  SettleCallRequest,
} from '../../gen/spindle/v1/tool_service_pb.ts';
import { type Call, lastLease } from '../core/call.ts';
import type { RequestCall } from '../core/command.ts';
import { MAX_PAGE_SIZE, MAX_UNFINISHED_CALLS, MAX_WATCHERS } from '../core/limits.ts';
import { accepted, type Outcome, refused } from '../core/refusal.ts';
import { directCallSession, type Session } from '../core/session.ts';
import { readFailure, readResult } from './answers.ts';
import type { Shared } from './engine.ts';
import { placementOf, tooLarge } from './placement.ts';
import type { SessionKey } from './ports.ts';
import { idFault, requestCommand, requestFault } from './request.ts';
import { nearestNames } from './search.ts';
import type { Done, SessionRunner } from './session-runner.ts';
import { callMessage, standing } from './updates.ts';
import type { CallWatcher } from './watchers.ts';

/** Which call: of a session, or a direct one where the session is empty. */
export interface CallRef {
  readonly sessionId: string;
  readonly callId: string;
}

/** Calls, as clients make and follow them. Promises reject only where the journal fails. */
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
  const { clock, random, workers, schemas, journal, blobs } = options;

  const commandFor = (
    request: CallToolRequest,
    callId: string,
    caller: Caller,
  ): Omit<RequestCall, 'placement'> =>
    requestCommand({
      request,
      callId,
      caller,
      definition: workers.find(caller.tenant, request.name),
      policies: options.policies,
      schemas,
      now: clock.now(),
      namesMayComeBack: clock.now() < shared.namesSettledAt,
      nearest: () =>
        nearestNames(
          workers.served(caller.tenant).map(({ definition }) => definition.tool.name),
          request.name,
          3,
        ),
    });

  /** A new call, with a worker where one is free. */
  const start = (
    key: SessionKey,
    command: Omit<RequestCall, 'placement'>,
    watcher: CallWatcher,
    retry: () => void,
  ): void => {
    const { caller } = command;
    const runner = sessions.fresh(key, { kind: 'call', name: command.name, subject: caller.subject });
    runner.watch(watcher);
    const reservation =
      command.unservable === undefined && !(command.inputFailure && command.requireValidInput)
        ? workers.reserve(key.tenant, command.name, key.sessionId)
        : undefined;
    const unservable = command.unservable ?? (reservation && tooLarge(reservation, command));
    const placement = reservation && placementOf(reservation, command, schemas);
    runner.send({ ...command, unservable, placement }, (outcome) => {
      const call = outcome.ok ? outcome.value.session.calls.get(command.callId) : undefined;
      const used = call !== undefined && lastLease(call)?.token === reservation?.leaseToken;
      if (reservation !== undefined && !used) workers.release(reservation.leaseToken);
      if (outcome.ok) return;
      runner.unwatch(watcher);
      // The first append conflicts where the journal knows the id already: then this is no new call.
      if (outcome.refusal.reason === 'session_moved') retry();
      else watcher.lost(outcome.refusal);
    });
  };

  /** The same id again: the same call, or a conflict. */
  const join = (
    runner: SessionRunner,
    command: Omit<RequestCall, 'placement'>,
    watcher: CallWatcher,
  ): void => {
    runner.send({ ...command, placement: undefined }, (outcome) => {
      if (!outcome.ok) watcher.lost(outcome.refusal);
      else attach(runner, outcome.value.session, command.callId, watcher);
    });
  };

  const attach = (runner: SessionRunner, session: Session, callId: string, watcher: CallWatcher): void => {
    const call = session.calls.get(callId);
    if (call === undefined) return;
    if (runner.watcherCount >= MAX_WATCHERS) {
      watcher.lost(
        refused('overloaded', `${MAX_WATCHERS} readers watch this call, which is the limit`).refusal,
      );
      return;
    }
    const ended = call.phase.kind === 'finished';
    if (!ended) runner.watch(watcher);
    if (ended || watcher.wantsAll) watcher.update(standing(call, clock.now()));
  };

  /** The call that a caller may see. Somebody else's is as unknown as one that does not exist (9.3). */
  const visible = (session: Session | undefined, caller: Caller, { callId }: CallRef): Outcome<Call> => {
    const call = session?.calls.get(callId);
    if (call?.caller?.subject === caller.subject) return accepted(call);
    return refused('call_not_found', `there is no call ${JSON.stringify(callId)}`, { call_id: callId });
  };

  const open = async (caller: Caller, ref: CallRef): Promise<Outcome<SessionRunner>> => {
    const key = keyOf(caller, ref);
    const fault = idFault('call_id', ref.callId);
    if (fault !== undefined) return refused('invalid_request', fault);
    const runner = await sessions.open(key);
    const call = visible(runner?.session, caller, ref);
    if (call.ok && runner !== undefined) return accepted(runner);
    if (runner !== undefined) sessions.release(runner);
    return call.ok ? refused('call_not_found', 'there is no such call') : call;
  };

  const read = async (caller: Caller, ref: CallRef): Promise<Outcome<CallMessage>> => {
    const fault = idFault('call_id', ref.callId);
    if (fault !== undefined) return refused('invalid_request', fault);
    const key = keyOf(caller, ref);
    const call = visible(await sessions.read(key), caller, ref);
    return call.ok ? accepted(callMessage(key.sessionId, call.value, clock.now())) : call;
  };

  return {
    request(caller, request, watcher) {
      const key = { tenant: caller.tenant, sessionId: '' };
      let stopped = false;
      let runner: SessionRunner | undefined;
      const guarded: CallWatcher = {
        wantsAll: watcher.wantsAll,
        update: (update) => !stopped && watcher.update(update),
        lost: (refusal) => !stopped && watcher.lost(refusal),
      };
      const fault = requestFault(request);
      if (fault !== undefined) {
        watcher.lost(refused('invalid_request', fault).refusal);
        return () => undefined;
      }
      const callId = request.callId === '' ? random.token() : request.callId;
      const named = { ...key, sessionId: directCallSession(callId) };
      const known = sessions.live(named);
      const rejoin = (): void => {
        sessions.open(named).then(
          (found) => {
            runner = found;
            if (found !== undefined) join(found, commandFor(request, callId, caller), guarded);
            else
              guarded.lost(
                refused('call_not_found', 'the call is not retained any more; use a new id').refusal,
              );
          },
          (error: unknown) =>
            guarded.lost(
              refused('journal_unavailable', `the journal cannot be read: ${String(error)}`).refusal,
            ),
        );
      };
      if (shared.stopping !== undefined) watcher.lost(shared.stopping);
      else if (known !== undefined) join(known, commandFor(request, callId, caller), guarded);
      else if (sessions.count(caller.tenant) >= MAX_UNFINISHED_CALLS) {
        watcher.lost(
          refused('overloaded', `${MAX_UNFINISHED_CALLS} calls have not ended, which is the limit`).refusal,
        );
      } else start(named, commandFor(request, callId, caller), guarded, rejoin);
      runner ??= sessions.live(named);
      return () => {
        stopped = true;
        (runner ?? sessions.live(named))?.unwatch(guarded);
      };
    },

    async watch(caller, ref, watcher) {
      const found = await open(caller, ref);
      if (!found.ok) return found;
      const runner = found.value;
      attach(runner, runner.session, ref.callId, watcher);
      sessions.release(runner);
      return accepted(() => runner.unwatch(watcher));
    },

    get: read,

    async list(caller, { pageSize, pageToken, onlyUnfinished, name }) {
      if (pageSize > MAX_PAGE_SIZE)
        return refused('invalid_request', `page_size must be at most ${MAX_PAGE_SIZE}`);
      const page = await journal.list({
        tenant: caller.tenant,
        kind: 'call',
        subject: caller.subject,
        onlyUnfinished,
        limit: pageSize === 0 ? DEFAULT_PAGE_SIZE : pageSize,
        ...(name === '' ? {} : { name }),
        ...(pageToken === '' ? {} : { cursor: pageToken }),
      });
      if (page === undefined)
        return refused('invalid_request', 'page_token is not from an answer to this request');
      const calls: CallMessage[] = [];
      for (const sessionId of page.sessionIds) {
        const session = await sessions.read({ tenant: caller.tenant, sessionId });
        for (const call of session?.calls.values() ?? [])
          calls.push(callMessage(sessionId, call, clock.now()));
      }
      return accepted({ calls, nextPageToken: page.nextCursor ?? '' });
    },

    async settle(caller, { sessionId, callId, attempt, outcome }) {
      const found = await open(caller, { sessionId, callId });
      if (!found.ok) return found;
      const runner = found.value;
      const call = runner.session.calls.get(callId);
      if (outcome.case === undefined || call === undefined) {
        sessions.release(runner);
        return refused('invalid_request', 'outcome must be a result or an error');
      }
      const { tenant } = runner.key;
      const definition = await definitions.load(tenant, lastLease(call)?.toolDigest || call.toolDigest);
      const answer =
        outcome.case === 'error'
          ? ({ kind: 'failure', failure: readFailure(outcome.value) } as const)
          : await readResult(outcome.value, { schemas, blobs, tenant, definition });
      if (answer.kind === 'unfit') {
        sessions.release(runner);
        return refused('invalid_request', answer.reason);
      }
      const done = await send(runner, { kind: 'settle', at: clock.now(), callId, attempt, answer });
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
      if (!done.ok) return done;
      const call = done.value.session.calls.get(callId);
      return call === undefined
        ? refused('call_not_found', 'there is no such call')
        : accepted(callMessage(found.value.key.sessionId, call, clock.now()));
    },
  };
}

/** Entries of a page where the request names no number (ListCallsRequest.page_size). */
const DEFAULT_PAGE_SIZE = 50;

function keyOf(caller: Caller, { sessionId, callId }: CallRef): SessionKey {
  return { tenant: caller.tenant, sessionId: sessionId === '' ? directCallSession(callId) : sessionId };
}

function send(runner: SessionRunner, command: Parameters<SessionRunner['send']>[0]): Promise<Outcome<Done>> {
  return new Promise((resolve) => runner.send(command, resolve));
}
