import { create } from '@bufbuild/protobuf';
import { CallerSchema, CallStatus } from '../../../gen/spindle/v1/call_pb.ts';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallUpdate,
  SettleCallRequestSchema,
} from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { CallRef } from '../../../src/engine/calls.ts';
import type { CallWatcher } from '../../../src/engine/watchers.ts';
import type { Dice } from './dice.ts';
import type { EngineProcess } from './engine-process.ts';
import type { History } from './history.ts';
import { createReach } from './reach.ts';
import type { Process, Scheduler } from './scheduler.ts';
import type { Intent } from './workload.ts';

export interface CallersWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  /** The engine that takes requests now. */
  readonly engine: () => EngineProcess | undefined;
}

/** The clients: each wants the end of its call, and asks until it knows it. */
export interface Callers {
  add(intent: Intent): void;
  /** Every wait on a process that died is lost, and its caller learns of it in its own time. */
  engineDied(process: Process): void;
  /** Calls whose end their caller does not know yet. */
  readonly open: ReadonlySet<string>;
}

export const TENANT = 'tenant';
export const CALLER = create(CallerSchema, { tenant: TENANT, subject: 'somebody' });
/** A caller gives up on a request that nobody answers, and asks again. */
const POLL_MS = 7_000;

export function createCallers(world: CallersWorld): Callers {
  const { scheduler, dice, history } = world;
  const open = new Set<string>();
  /** Waits under way, with the process that they are on. */
  const waits = new Map<string, { readonly process: Process; readonly lose: (reason: string) => void }>();
  const reach = createReach(world);
  let made = 0;

  const atEngine = reach.run;

  /** Calls of which a caller has heard. */
  const onRecord = new Set<string>();

  /** Asks for a call once; `hear` gets what comes back, in order. */
  const ask = (
    request: CallToolRequest,
    wantsAll: boolean,
    as: 'first' | 'joining' | 'clashing',
    hear: { update: (update: CallUpdate) => void; lost: (reason: string) => void },
  ): (() => void) => {
    const { callId } = request;
    const wait = `${callId}#${++made}`;
    let arrivesAt = 0;
    let dropped = false;
    let stop: () => void = () => undefined;
    const deliver = (run: () => void): void => {
      arrivesAt = Math.max(arrivesAt, scheduler.now + dice.latency(2, 80));
      scheduler.at(arrivesAt, 'network', undefined, () => {
        if (!dropped) run();
      });
    };
    const over = (reason: string): void => {
      waits.delete(wait);
      deliver(() => hear.lost(reason));
    };
    const watcher: CallWatcher = {
      wantsAll,
      update(update) {
        history.record({ kind: 'told', wait, callId, update: update.kind });
        if (as !== 'clashing') onRecord.add(callId);
        if (update.kind.case === 'finished') waits.delete(wait);
        deliver(() => hear.update(update));
      },
      lost({ reason }) {
        history.record({ kind: 'wait_lost', wait, callId, reason });
        over(reason);
      },
    };
    atEngine(
      ({ engine, process }) => {
        if (dropped) return;
        history.record({ kind: 'asked', wait, callId, as, wantsAll });
        waits.set(wait, { process, lose: over });
        stop = engine.calls.request(CALLER, request, watcher);
      },
      () => over('unreachable'),
    );
    return () => {
      dropped = true;
      const at = waits.get(wait);
      waits.delete(wait);
      if (at !== undefined) scheduler.at(scheduler.now + dice.latency(2, 80), 'network', at.process, stop);
    };
  };

  const settle = (callId: string, open: () => boolean): void => {
    const answer = `settled ${callId} ${dice.token()}`;
    const fails = dice.chance(0.2);
    const again = (): void => {
      if (open()) scheduler.at(scheduler.now + dice.between(200, 2_000), 'network', undefined, attempt);
    };
    const attempt = (): void =>
      atEngine(({ engine }) => {
        const request = create(SettleCallRequestSchema, {
          callId,
          outcome: fails
            ? { case: 'error', value: { code: 'outside', message: answer } }
            : { case: 'result', value: { content: [{ kind: { case: 'text', value: { text: answer } } }] } },
        });
        engine.calls.settle(CALLER, request).then(
          (outcome) => {
            const verdict = outcome.ok ? outcome.value : undefined;
            const reason = outcome.ok ? '' : outcome.refusal.reason;
            history.record({ kind: 'settled', callId, text: answer, verdict, reason });
            if (!outcome.ok && !FINAL.has(reason)) again();
          },
          () => again(),
        );
      }, again);
    attempt();
  };

  const cancel = (callId: string): void =>
    atEngine(
      ({ engine }) => {
        engine.calls.cancel(CALLER, { sessionId: '', callId }, 'the caller changed its mind').then(
          (outcome) =>
            history.record({ kind: 'cancelled', callId, refused: outcome.ok ? '' : outcome.refusal.reason }),
          () => undefined,
        );
      },
      () => undefined,
    );

  const follow = (intent: Intent, name: string, isTwin: boolean): void => {
    const { callId } = intent;
    const request = create(CallToolRequestSchema, {
      name: intent.tool,
      arguments: intent.arguments,
      callId,
      ...(intent.retry === undefined ? {} : { retry: intent.retry }),
    });
    open.add(name);
    let settling = false;
    let asked = 0;
    const isOpen = (): boolean => open.has(name);

    const settleSoon = (): void => {
      if (settling || isTwin) return;
      settling = true;
      scheduler.at(scheduler.now + dice.latency(800, 8_000), 'network', undefined, () =>
        settle(callId, isOpen),
      );
    };
    const learn = ({ kind }: CallUpdate): void => {
      if (!isOpen()) return;
      if (kind.case === 'open') settleSoon();
      if (kind.case === 'started' && intent.settlesEarly) settleSoon();
      if (kind.case === 'interrupted')
        scheduler.at(scheduler.now + dice.latency(2_000, 9_000), 'network', undefined, () => cancel(callId));
      if (kind.case !== 'finished') return;
      open.delete(name);
      history.record({ kind: 'caller_knows', callId, end: kind });
    };
    const start = (): void => {
      if (!isOpen()) return;
      asked += 1;
      const mine = asked;
      const againAfter = (millis: number): void => {
        if (mine === asked) scheduler.at(scheduler.now + millis, 'network', undefined, start);
      };
      const wantsAll = mine === 1 ? intent.wantsAll : dice.chance(0.5);
      let over = false;
      const drop = ask(request, wantsAll, isTwin || mine > 1 ? 'joining' : 'first', {
        update: learn,
        lost(reason) {
          over = true;
          if (FATAL.has(reason)) open.delete(name);
          else againAfter(dice.between(50, 2_000));
        },
      });
      if (intent.patience === undefined || dice.chance(0.3)) return;
      scheduler.at(scheduler.now + intent.patience, 'network', undefined, () => {
        if (!isOpen() || over) return;
        drop();
        againAfter(dice.latency(500, 20_000));
      });
    };
    scheduler.at(intent.at + (isTwin ? dice.latency(200, 9_000) : 0), 'network', undefined, start);
    if (!isTwin) poll(callId, isOpen, settleSoon);
  };

  /** Looks at the call now and then: a wait that hears the end alone does not see that it is open. */
  const poll = (callId: string, isOpen: () => boolean, settleSoon: () => void): void => {
    const ref: CallRef = { sessionId: '', callId };
    const again = (): void => {
      scheduler.at(scheduler.now + POLL_MS, 'network', undefined, look);
    };
    const look = (): void => {
      if (!isOpen()) return;
      again();
      atEngine(
        ({ engine }) => {
          engine.calls.get(CALLER, ref).then(
            (outcome) => {
              if (!outcome.ok) return;
              if (outcome.value.status === CallStatus.OPEN) settleSoon();
              if (outcome.value.status === CallStatus.INTERRUPTED) cancel(callId);
            },
            () => undefined,
          );
        },
        () => undefined,
      );
    };
    again();
  };

  /** The id again, with other arguments: whoever comes second is refused. */
  const clash = (intent: Intent): void => {
    // Nobody knows of the call yet, because no engine has been there for it: this one would be the first.
    if (!onRecord.has(intent.callId)) return;
    const request = create(CallToolRequestSchema, {
      name: intent.tool,
      arguments: '{"n": -1}',
      callId: intent.callId,
    });
    ask(request, true, 'clashing', { update: () => undefined, lost: () => undefined });
  };

  return {
    open,
    add(intent) {
      follow(intent, intent.callId, false);
      if (intent.twin) follow(intent, `${intent.callId} (twin)`, true);
      if (intent.cancelAt !== undefined)
        scheduler.at(intent.cancelAt, 'network', undefined, () => cancel(intent.callId));
      // Later than any engine may be away, so that the call it clashes with is the first.
      if (intent.clash) scheduler.at(intent.at + 60_000, 'network', undefined, () => clash(intent));
    },
    engineDied(process) {
      reach.engineDied(process);
      for (const [wait, { process: on, lose }] of [...waits]) {
        if (on !== process) continue;
        waits.delete(wait);
        lose('connection lost');
      }
    },
  };
}

/** Refusals of a settlement that trying again does not change. */
const FINAL: ReadonlySet<string> = new Set([
  'call_not_open',
  'call_not_found',
  'invalid_request',
  'not_permitted',
]);
/** Refusals of a request that trying again does not change. The checker knows which calls may get them. */
const FATAL: ReadonlySet<string> = new Set([
  'call_id_conflict',
  'invalid_request',
  'call_not_found',
  'internal',
]);
