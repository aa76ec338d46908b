import { create } from '@bufbuild/protobuf';
import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { Role } from '../../../gen/spindle/v1/message_pb.ts';
import {
  CreateSessionRequestSchema,
  ListSessionsRequestSchema,
  type OpenItem,
  OpenReason,
  ResumeInterruptRequestSchema,
  type StartTurnRequest,
  StartTurnRequestSchema,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import { SettleCallRequestSchema } from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { Outcome } from '../../../src/core/refusal.ts';
import type { Millis } from '../../../src/core/time.ts';
import { CALLER } from './callers.ts';
import type { Dice } from './dice.ts';
import type { EngineProcess } from './engine-process.ts';
import type { History } from './history.ts';
import { createReach } from './reach.ts';
import type { Process, Scheduler } from './scheduler.ts';
import { BOSS, type Talk, type TurnIntent } from './talks.ts';
import { watchTalk } from './watching.ts';

export interface ClientsWorld {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly history: History;
  /** The engine that takes requests now. */
  readonly engine: () => EngineProcess | undefined;
}

/** Those who talk with agents: each wants the end of its turns, and answers whatever waits for it. */
export interface Clients {
  add(talk: Talk): void;
  engineDied(process: Process): void;
  /** Turns whose end their client does not know yet. */
  readonly open: ReadonlySet<string>;
}

/** Asks an engine for something; undefined where no answer came back. */
export type Ask = <T>(
  run: (engine: EngineProcess) => Promise<Outcome<T>>,
  hear: (outcome: Outcome<T> | undefined) => void,
) => void;

/** How often a client looks for what waits for it, and at its turns. */
const POLL_MS = 2_500;

export function createClients(world: ClientsWorld): Clients {
  const { scheduler, dice, history } = world;
  const reach = createReach(world);
  const open = new Set<string>();
  /** Requests that an engine has and has not answered. */
  const pending = new Set<{ readonly process: Process; readonly lose: () => void }>();
  const losses: ((process: Process) => void)[] = [];
  /** What somebody is about to answer. */
  const answering = new Set<string>();
  let looking = false;

  const later = (millis: Millis, run: () => void): void => {
    scheduler.at(scheduler.now + millis, 'network', undefined, run);
  };

  const ask: Ask = (run, hear) => {
    const lost = (): void => later(dice.latency(2, 80), () => hear(undefined));
    reach.run((engine) => {
      const request = { process: engine.process, lose: lost };
      pending.add(request);
      run(engine).then(
        (outcome) => {
          if (pending.delete(request)) later(dice.latency(2, 80), () => hear(outcome));
        },
        (error: unknown) => history.record({ kind: 'bug', error }),
      );
    }, lost);
  };

  /** Asks until the answer is one that does not pass. */
  const insist = <T>(
    run: (engine: EngineProcess) => Promise<Outcome<T>>,
    hear: (outcome: Outcome<T>) => void,
    isWanted: () => boolean = () => true,
  ): void => {
    if (!isWanted()) return;
    ask(run, (outcome) => {
      if (outcome !== undefined && (outcome.ok || !PASSING.has(outcome.refusal.reason))) hear(outcome);
      else later(dice.between(100, 2_000), () => insist(run, hear, isWanted));
    });
  };

  const begin = (talk: Talk): void => {
    const { sessionId, agent } = talk;
    const request = create(CreateSessionRequestSchema, { sessionId, agentId: BOSS, agent });
    insist(
      ({ engine }) => engine.conversations.create(CALLER, request),
      (outcome) => {
        if (!outcome.ok) {
          history.record({ kind: 'turn_refused', sessionId, turnId: '', reason: outcome.refusal.reason });
          return;
        }
        watch(talk);
        for (const turn of talk.turns) plan(talk, turn);
      },
    );
  };

  const knows = (sessionId: string, turnId: string): void => {
    if (open.delete(turnId)) history.record({ kind: 'client_knows', sessionId, turnId });
  };

  const watch = (talk: Talk): void => {
    const isOver = (): boolean => talk.turns.every(({ turnId }) => !open.has(turnId));
    const hear = ({ kind, turnId }: SessionEvent): void => {
      if (kind.case === 'turnEnded') knows(talk.sessionId, turnId);
    };
    losses.push(watchTalk({ ...world, reach }, talk, hear, isOver));
  };

  const plan = ({ sessionId }: Talk, turn: TurnIntent): void => {
    const { turnId, text, queue, twin, cancelAt } = turn;
    const message = {
      role: Role.USER,
      parts: [{ kind: { case: 'content' as const, value: textContent(text) } }],
    };
    const request = create(StartTurnRequestSchema, {
      sessionId,
      turnId,
      queue,
      input: { kind: { case: 'messages', value: { messages: [message] } } },
    });
    scheduler.at(turn.at, 'network', undefined, () => {
      start(request, true);
      if (twin) start(request, false);
    });
    if (cancelAt !== undefined) scheduler.at(cancelAt, 'network', undefined, () => cancel(sessionId, turnId));
  };

  const start = (request: StartTurnRequest, isFirst: boolean): void => {
    const { sessionId, turnId } = request;
    insist(
      async ({ engine }) => {
        const outcome = await engine.conversations.startTurn(CALLER, { request, traceContext: {} });
        if (outcome.ok) {
          const { queued, existing } = outcome.value;
          history.record({ kind: 'turn_accepted', sessionId, turnId, queued, existing });
        } else history.record({ kind: 'turn_refused', sessionId, turnId, reason: outcome.refusal.reason });
        return outcome;
      },
      (outcome) => {
        if (outcome.ok && isFirst) poll(sessionId, turnId);
        // Somebody who does not queue comes back.
        else if (!outcome.ok && outcome.refusal.reason === 'turn_already_active')
          later(dice.between(500, 4_000), () => start(request, isFirst));
      },
    );
  };

  /** Looks at the turn now and then, for a watch may be away. */
  const poll = (sessionId: string, turnId: string): void =>
    later(POLL_MS * 4, () => {
      if (!open.has(turnId)) return;
      ask(
        ({ engine }) => engine.conversations.turn(CALLER, sessionId, turnId),
        (outcome) => {
          if (outcome?.ok && outcome.value.ended !== undefined) knows(sessionId, turnId);
          if (outcome?.ok === false && outcome.refusal.reason === 'turn_not_found')
            history.record({ kind: 'turn_missing', sessionId, turnId });
          poll(sessionId, turnId);
        },
      );
    });

  const cancel = (sessionId: string, turnId: string): void =>
    ask(
      async ({ engine }) => {
        const outcome = await engine.conversations.cancelTurn(CALLER, sessionId, turnId, 'no more');
        if (outcome.ok) history.record({ kind: 'turn_cancelled', sessionId, turnId: outcome.value });
        return outcome;
      },
      () => undefined,
    );

  /** Looks for sessions, children among them, that wait for somebody. */
  const look = (): void => {
    if (open.size === 0) {
      looking = false;
      return;
    }
    later(POLL_MS, look);
    const request = create(ListSessionsRequestSchema, { pageSize: 100, onlyWaiting: true });
    ask(
      ({ engine }) => engine.conversations.list(CALLER, request),
      (outcome) => {
        if (!outcome?.ok) return;
        for (const { sessionId, openItems } of outcome.value.sessions)
          for (const item of openItems) answer(sessionId, item);
      },
    );
  };

  const answer = (sessionId: string, item: OpenItem): void => {
    const name = `${sessionId} ${item.id}`;
    if (answering.has(name)) return;
    answering.add(name);
    // Who answers once may be asked again: an answer can be lost on the way, or the item come back.
    const over = (): void => void answering.delete(name);
    later(dice.latency(1_500, 9_000), () => {
      if (item.reason === OpenReason.INTERRUPT) {
        resume(sessionId, item.id, over);
        if (dice.chance(0.25)) resume(sessionId, item.id, () => undefined);
      } else settle(sessionId, item.id, item.reason === OpenReason.CLIENT && dice.chance(0.5), over);
    });
  };

  const resume = (sessionId: string, interruptId: string, over: () => void): void => {
    const payloadJson = JSON.stringify({ answer: dice.token() });
    const denied = dice.chance(0.3);
    const request = create(ResumeInterruptRequestSchema, {
      sessionId,
      interruptId,
      payloadJson,
      ...(denied ? { denyReason: 'no' } : {}),
    });
    insist(async ({ engine }) => {
      const outcome = await engine.conversations.resume(CALLER, request);
      if (outcome.ok)
        history.record({
          kind: 'resumed',
          sessionId,
          interruptId,
          payloadJson,
          denied,
          already: outcome.value,
        });
      return outcome;
    }, over);
  };

  /** Ends a call from outside: by itself, or as a message of the conversation (6.9). */
  const settle = (sessionId: string, callId: string, asMessage: boolean, over: () => void): void => {
    const fails = dice.chance(0.2);
    const said = `settled ${callId} ${dice.token()}`;
    const outcome = fails
      ? { case: 'error' as const, value: { code: 'outside', message: said } }
      : {
          case: 'result' as const,
          value: { content: [{ kind: { case: 'text' as const, value: { text: said } } }] },
        };
    if (!asMessage) {
      const request = create(SettleCallRequestSchema, { sessionId, callId, outcome });
      insist(({ engine }) => engine.calls.settle(CALLER, request), over);
      return;
    }
    const part = { kind: { case: 'toolResult' as const, value: { callId, name: '', outcome } } };
    const request = create(StartTurnRequestSchema, {
      sessionId,
      input: { kind: { case: 'messages', value: { messages: [{ role: Role.TOOL, parts: [part] }] } } },
    });
    insist(({ engine }) => engine.conversations.startTurn(CALLER, { request, traceContext: {} }), over);
  };

  return {
    open,
    add(talk) {
      for (const { turnId } of talk.turns) open.add(turnId);
      scheduler.at(talk.at, 'network', undefined, () => begin(talk));
      if (looking) return;
      looking = true;
      later(POLL_MS, look);
    },
    engineDied(process) {
      reach.engineDied(process);
      for (const request of [...pending]) {
        if (request.process !== process) continue;
        pending.delete(request);
        request.lose();
      }
      for (const lose of losses) lose(process);
    },
  };
}

function textContent(text: string) {
  return { kind: { case: 'text' as const, value: { text } } };
}

/** Refusals that pass: whoever asks again gets on. */
const PASSING: ReadonlySet<string> = new Set([
  'overloaded',
  'shutting_down',
  'journal_unavailable',
  'session_moved',
]);
