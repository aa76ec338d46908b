import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { CallToolRequest } from '../../gen/spindle/v1/tool_service_pb.ts';
import { lastLease } from '../core/call.ts';
import type { RequestCall } from '../core/command.ts';
import { MAX_UNFINISHED_CALLS, MAX_WATCHERS } from '../core/limits.ts';
import { nearestNames } from '../core/nearest-names.ts';
import { accepted, type Outcome, type Refusal, refused } from '../core/refusal.ts';
import { namesTool } from '../core/rights.ts';
import { directCallSession } from '../core/session.ts';
import type { Instant } from '../core/time.ts';
import type { Calls } from './calls.ts';
import type { Shared } from './engine.ts';
import { placementOf, tooLarge } from './placement.ts';
import type { Leave, SessionKey } from './ports.ts';
import { requestCommand, requestFault } from './request.ts';
import type { SessionRunner } from './session-runner.ts';
import { standing } from './updates.ts';
import type { CallWatcher } from './watchers.ts';

/** A request on its way: the core's command but for the worker, and who waits for its call. */
interface Waiting {
  readonly key: SessionKey;
  readonly command: Omit<RequestCall, 'placement'>;
  readonly watcher: CallWatcher;
}

/** What a recorder hears of a request that is refused. */
type Refused = Pick<Waiting, 'key' | 'watcher'> & {
  readonly command: Pick<RequestCall, 'name' | 'callId' | 'traceContext'>;
};

/** Makes calls, or joins those that have the same id (4.12). */
export function createRequests(shared: Shared): Calls['request'] {
  const { options, sessions } = shared;
  const { clock, random, workers, schemas, recorder } = options;

  const commandFor = (caller: Caller, request: CallToolRequest, callId: string): Waiting['command'] => {
    const now = clock.now();
    const offered = (): string[] =>
      workers
        .served(caller.tenant)
        .map(({ definition }) => definition.tool.name)
        .filter((name) => namesTool(caller, name));
    return requestCommand({
      request,
      callId,
      caller,
      definition: workers.find(caller.tenant, request.name),
      policies: options.policies,
      schemas,
      now,
      namesMayComeBack: now < shared.namesSettledAt,
      nearest: () => nearestNames(offered(), request.name, NEAREST_NAMES),
    });
  };

  /** Nothing is on record of the request. */
  const refuse = ({ command, key, watcher }: Refused, refusal: Refusal): void => {
    const { name: toolName, callId, traceContext } = command;
    const { reason } = refusal;
    recorder?.refused?.({ tenant: key.tenant, toolName, callId, traceContext, reason, at: clock.now() });
    watcher.lost(refusal);
  };

  /** Why a request is not even looked at; undefined where it is. */
  const refusalOf = (caller: Caller, request: CallToolRequest, key: SessionKey): Refusal | undefined => {
    const fault = requestFault(request);
    if (fault !== undefined) return refused('invalid_request', fault).refusal;
    if (!namesTool(caller, request.name)) return notNamed(request.name);
    if (shared.stopping !== undefined) return shared.stopping;
    if (sessions.live(key) !== undefined || sessions.count(key.tenant) < MAX_UNFINISHED_CALLS)
      return undefined;
    const message = `${MAX_UNFINISHED_CALLS} calls of this tenant have not ended, which is the limit`;
    return refused('overloaded', message).refusal;
  };

  /** A place for one more call, in flight from now on. */
  const admit = (caller: Caller): Outcome<Leave> => {
    const { quotas } = options;
    if (quotas === undefined) return UNCOUNTED;
    const over = quotas.rate(caller);
    return over === undefined ? quotas.begin(caller) : { ok: false, refusal: over };
  };

  /** A new call, with a worker where one is free. */
  const start = ({ key, command, watcher }: Waiting, leave: Leave): void => {
    const { name, callId, caller } = command;
    const runner = sessions.fresh(key, { kind: 'call', name, subject: caller.subject });
    runner.watch(watcher);
    const refusedInput = command.requireValidInput && command.inputFailure !== undefined;
    const needsWorker = command.unservable === undefined && !refusedInput;
    const reservation = needsWorker ? workers.reserve(key.tenant, name, key.sessionId) : undefined;
    const placement = reservation && placementOf(reservation, command, options, undefined);
    const unservable = command.unservable ?? (placement && tooLarge(reservation, command, placement));
    runner.send({ ...command, unservable, placement }, (outcome) => {
      leave();
      const call = outcome.ok ? outcome.value.session.calls.get(callId) : undefined;
      const used = call !== undefined && lastLease(call)?.token === reservation?.leaseToken;
      if (reservation !== undefined && !used) workers.release(reservation.leaseToken);
      if (outcome.ok) return;
      runner.unwatch(watcher);
      // The first append conflicts where the journal knows the id already: then this is no new call.
      if (outcome.refusal.reason === 'session_moved') rejoin({ key, command, watcher });
      else refuse({ key, command, watcher }, outcome.refusal);
    });
  };

  /** The same id again: the same call, or a conflict. `moved`: the session is not where it was looked for. */
  const join = (runner: SessionRunner, waiting: Waiting, moved: (why: Refusal) => void): void => {
    const { command, watcher } = waiting;
    runner.send({ ...command, placement: undefined }, (outcome) => {
      if (outcome.ok) attach(runner, command.callId, watcher, clock.now());
      else if (outcome.refusal.reason === 'session_moved') moved(outcome.refusal);
      else refuse(waiting, outcome.refusal);
    });
  };

  /** Joins a call that only the journal knows. */
  const rejoin = (waiting: Waiting): void => {
    sessions.open(waiting.key).then(
      (runner) => {
        if (runner !== undefined) join(runner, waiting, waiting.watcher.lost);
        else waiting.watcher.lost(NOT_RETAINED);
      },
      (error: unknown) => {
        const refusal = shared.refuse(error);
        if (refusal === undefined)
          options.observer.report('error', 'session_unreadable', { error: String(error) });
        waiting.watcher.lost(refusal ?? UNREADABLE);
      },
    );
  };

  return (caller, request, given) => {
    const callId = request.callId === '' ? random.token() : request.callId;
    const { watcher, stop } = stoppable(given, (stopped) => sessions.live(key)?.unwatch(stopped));
    const key = { tenant: caller.tenant, sessionId: directCallSession(callId) };
    const live = sessions.live(key);
    const refusal = refusalOf(caller, request, key);
    if (refusal !== undefined) refuse({ key, command: { ...request, callId }, watcher }, refusal);
    else if (live !== undefined) {
      const waiting = { key, command: commandFor(caller, request, callId), watcher };
      join(live, waiting, () => rejoin(waiting));
    } else {
      const place = admit(caller);
      if (place.ok) start({ key, command: commandFor(caller, request, callId), watcher }, place.value);
      else refuse({ key, command: { ...request, callId }, watcher }, place.refusal);
    }
    return stop;
  };
}

const UNCOUNTED = accepted<Leave>(() => undefined);

/** How many names an error about an unknown one suggests. */
const NEAREST_NAMES = 3;

function notNamed(tool: string): Refusal {
  return refused('not_permitted', `your credential does not name the tool ${tool}`, { tool }).refusal;
}

const NOT_RETAINED = refused(
  'call_not_found',
  'the call is not retained any more; use a new call_id',
).refusal;
const UNREADABLE = refused('journal_unavailable', 'the record of this call cannot be read').refusal;

/**
 * A watcher that hears nothing any more once it was stopped, also where it only then gets to its call, and nothing
 * behind a refusal: an engine that goes away tells it so while its request is still on its way.
 */
function stoppable(
  given: CallWatcher,
  unwatch: (watcher: CallWatcher) => void,
): { readonly watcher: CallWatcher; readonly stop: () => void } {
  let stopped = false;
  const watcher: CallWatcher = {
    wantsAll: given.wantsAll,
    update: (update) => {
      if (!stopped) given.update(update);
    },
    lost: (refusal) => {
      if (stopped) return;
      stopped = true;
      given.lost(refusal);
    },
  };
  const stop = (): void => {
    stopped = true;
    unwatch(watcher);
  };
  return { watcher, stop };
}

/** Lets a watcher follow a call from here on. The first update is the newest so far. */
export function attach(runner: SessionRunner, callId: string, watcher: CallWatcher, now: Instant): void {
  // As it stands now, and not as a command found it: what was decided behind that has been announced already.
  const call = runner.session.calls.get(callId);
  if (call === undefined) return;
  const ended = call.phase.kind === 'finished';
  if (!ended && runner.watcherCount >= MAX_WATCHERS) {
    watcher.lost(
      refused('overloaded', `${MAX_WATCHERS} readers watch this call, which is the limit`).refusal,
    );
    return;
  }
  if (!ended) runner.watch(watcher);
  if (ended || watcher.wantsAll) watcher.update(standing(call, now));
}
