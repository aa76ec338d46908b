import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TurnEnded } from '../../../gen/spindle/v1/event_pb.ts';
import type { ChatMessage } from '../../../gen/spindle/v1/message_pb.ts';
import {
  type OpenItem,
  SessionService,
  type StartTurnRequestSchema,
} from '../../../gen/spindle/v1/session_service_pb.ts';
import type { Requests } from '../grpc/requests.ts';
import type { Tool } from '../tool.ts';
import { createAnswers } from './answers.ts';
import type { Asking } from './asking.ts';
import { type Followed, follow, type Source } from './follow.ts';
import type { InterruptHandler } from './interrupt.ts';
import type { PatienceOptions } from './patience.ts';
import type { LogEvent, TurnEvent } from './session-event.ts';
import { createTurnStanding } from './turn-standing.ts';

export interface RunTurnPorts extends PatienceOptions {
  readonly requests: Requests;
  readonly asking: Asking;
}

export interface RunTurnOptions {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly onInterrupt: InterruptHandler | undefined;
  readonly signal: AbortSignal;
}

/** How a turn ended that was run: with its last message, or waiting for somebody. */
export type TurnEnd =
  | { readonly kind: 'ended'; readonly ended: TurnEnded; readonly answer: ChatMessage | undefined }
  | { readonly kind: 'paused'; readonly openItems: readonly OpenItem[] };

/**
 * Runs a turn and gives what happens in it, answering what it may by itself. The turn's id makes the first request
 * safe to repeat (6.14); once an event has come, a broken stream is followed from there.
 */
export async function* runTurn(
  turn: MessageInitShape<typeof StartTurnRequestSchema> & {
    readonly sessionId: string;
    readonly turnId: string;
  },
  options: RunTurnOptions,
  ports: RunTurnPorts,
): AsyncGenerator<TurnEvent, TurnEnd, undefined> {
  const { sessionId, turnId } = turn;
  const { requests, asking, clock } = ports;
  const { method } = SessionService;
  const stopped = new AbortController();
  const signal = AbortSignal.any([options.signal, stopped.signal]);
  const standing = createTurnStanding();
  let wake = Promise.withResolvers<void>();
  const answers = createAnswers({
    ...options,
    place: { sessionId, turnId },
    asking,
    clock,
    changed: () => wake.resolve(),
  });
  /** The engine ends the stream of RunTurn where the turn pauses; a watched session says nothing then. */
  let watching = false;
  let saidPaused = false;
  let cursor: number | undefined;
  const source: Source = {
    open(after) {
      watching = after !== undefined;
      return after === undefined
        ? requests.stream(method.runTurn, { turn }, signal)
        : requests.stream(
            method.watchSession,
            { sessionId, afterSequence: after, includeDeltas: true },
            signal,
          );
    },
    ended() {
      // Without one event of the turn there is nothing to go on from.
      if (watching || cursor === undefined) return false;
      saidPaused = true;
      wake.resolve();
      return true;
    },
  };

  const updates = follow(source, ports, signal);
  const read = (): Promise<IteratorResult<Followed, never>> => {
    const next = updates.next();
    // It is awaited below, unless the turn is over before it comes.
    next.catch(() => undefined);
    return next;
  };
  try {
    let next = read();
    let asked: number | undefined;
    for (;;) {
      wake = Promise.withResolvers();
      if (answers.failure !== undefined) throw answers.failure.error;
      const mayWait = saidPaused || (watching && standing.seemsPaused);
      if (mayWait && answers.idle && asked !== cursor) {
        asked = cursor;
        const { session } = await asking.ask(method.getSession, { sessionId }, signal);
        const openItems = session?.openItems ?? [];
        if ((saidPaused || openItems.length > 0) && (session?.lastSequence ?? 0) <= (cursor ?? 0)) {
          yield { kind: 'paused', sessionId, turnId, openItems };
          return { kind: 'paused', openItems };
        }
      }
      const step = await Promise.race([next, wake.promise]);
      if (step === undefined) continue;
      next = read();
      if (step.value.cursor !== cursor) saidPaused = false;
      ({ cursor } = step.value);
      const { event } = step.value;
      if (event === undefined) continue;
      if (!('sequence' in event)) {
        if (standing.knows(event.callId)) yield event;
        continue;
      }
      if (event.turnId !== turnId) continue;
      standing.note(event);
      answers.note(event);
      yield event;
      if (event.kind === 'turn.ended') return { kind: 'ended', ended: event.data, answer: answerIn(event) };
    }
  } finally {
    answers.stop();
    stopped.abort();
  }

  function answerIn({ data }: Extract<LogEvent, { kind: 'turn.ended' }>): ChatMessage | undefined {
    return data.outcome.case === 'finished'
      ? standing.message(data.outcome.value.answer?.id ?? '')
      : undefined;
  }
}
