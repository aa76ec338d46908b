import type { SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import type { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import type { CallUpdate } from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { ModelRequest } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { EngineFrame, WorkerFrame } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { Millis } from '../../../src/core/time.ts';
import type { ModelAnswer } from '../../../src/engine/ports.ts';
import type { AnswerOutcome } from '../../../src/sdk/outcome.ts';
import type { Ending } from '../../../src/sdk/work.ts';

/** A stream of a worker, as the network knows it. */
export interface StreamName {
  /** Unique in the world. */
  readonly stream: number;
  /** The worker's process. */
  readonly worker: string;
  /** The engine's process; empty where nobody took the stream. */
  readonly engine: string;
}

/** A delivery of a trigger to a decider. */
export interface DecisionName {
  readonly worker: string;
  readonly leaseToken: string;
  readonly sessionId: string;
  readonly decisionId: string;
}

export interface TurnName {
  readonly sessionId: string;
  readonly turnId: string;
}

export interface WatchName {
  readonly watch: string;
  readonly sessionId: string;
}

/** What somebody outside of every process can see. The checker knows nothing else. */
export type Fact =
  | { readonly kind: 'engine_started'; readonly engine: string }
  /** Recovered; takes requests and streams. */
  | { readonly kind: 'engine_listens'; readonly engine: string }
  | { readonly kind: 'engine_died'; readonly engine: string; readonly why: string }
  | { readonly kind: 'worker_started'; readonly worker: string; readonly instanceId: string }
  | { readonly kind: 'worker_died'; readonly worker: string; readonly why: string }
  /** A worker ended by itself: drained, or refused for good. */
  | {
      readonly kind: 'worker_ended';
      readonly worker: string;
      readonly unfinished: number;
      readonly why: string;
    }
  /** An engine asks for something to be made durable. */
  | { readonly kind: 'appending'; readonly engine: string; readonly sessionId: string }
  /** Durable from here on. `engine` is empty where another owner of the session wrote. */
  | {
      readonly kind: 'committed';
      readonly engine: string;
      readonly sessionId: string;
      readonly events: readonly SessionEvent[];
    }
  /** Put on the wire by the engine, and by the worker. */
  | ({ readonly kind: 'engine_wrote'; readonly frame: EngineFrame['kind'] } & StreamName)
  | ({ readonly kind: 'worker_wrote'; readonly frame: WorkerFrame['kind'] } & StreamName)
  /** Read from the wire: what never arrives was lost with its stream. */
  | ({ readonly kind: 'engine_read'; readonly frame: WorkerFrame['kind'] } & StreamName)
  | ({ readonly kind: 'worker_read'; readonly frame: EngineFrame['kind'] } & StreamName)
  /** One side knows that the stream is over. */
  | ({ readonly kind: 'stream_ended'; readonly side: 'engine' | 'worker' } & StreamName)
  | {
      readonly kind: 'run_started';
      readonly worker: string;
      readonly leaseToken: string;
      readonly callId: string;
      readonly attempt: number;
      readonly idempotencyKey: string;
    }
  | {
      readonly kind: 'run_ended';
      readonly worker: string;
      readonly leaseToken: string;
      readonly outcome: AnswerOutcome;
    }
  /** A caller's request reached an engine; what that says about the wait follows as `told` and `wait_lost`. */
  | {
      readonly kind: 'asked';
      readonly wait: string;
      readonly callId: string;
      readonly as: 'first' | 'joining' | 'clashing';
      readonly wantsAll: boolean;
    }
  | {
      readonly kind: 'told';
      readonly wait: string;
      readonly callId: string;
      readonly update: CallUpdate['kind'];
    }
  | { readonly kind: 'wait_lost'; readonly wait: string; readonly callId: string; readonly reason: string }
  /** The caller itself has read the end of its call. */
  | { readonly kind: 'caller_knows'; readonly callId: string; readonly end: CallUpdate['kind'] }
  | {
      readonly kind: 'settled';
      readonly callId: string;
      readonly text: string;
      readonly verdict: AnswerVerdict | undefined;
      readonly reason: string;
    }
  | { readonly kind: 'cancelled'; readonly callId: string; readonly refused: string }
  /** A provider gets a request, and answers it. */
  | {
      readonly kind: 'model_asked';
      readonly engine: string;
      readonly callId: string;
      readonly attempt: number;
      readonly request: ModelRequest;
    }
  | {
      readonly kind: 'model_said';
      readonly engine: string;
      readonly callId: string;
      readonly attempt: number;
      readonly answer: ModelAnswer;
    }
  /** A decider gets a trigger, and is done with it. */
  | ({ readonly kind: 'decision_asked'; readonly trigger: string } & DecisionName)
  | ({ readonly kind: 'decision_said'; readonly ending: Ending } & DecisionName)
  /** What clients of conversations got: each is recorded where the engine says it. */
  | ({ readonly kind: 'turn_accepted'; readonly queued: boolean; readonly existing: boolean } & TurnName)
  | ({ readonly kind: 'turn_refused'; readonly reason: string } & TurnName)
  | ({ readonly kind: 'turn_missing' } & TurnName)
  /** `turnId` is the one that was stopped; empty where none was. */
  | ({ readonly kind: 'turn_cancelled' } & TurnName)
  | {
      readonly kind: 'resumed';
      readonly sessionId: string;
      readonly interruptId: string;
      readonly payloadJson: string;
      readonly denied: boolean;
      readonly already: boolean;
    }
  /** A watch of a session: from where, and what it was told. */
  | ({ readonly kind: 'watch_begun'; readonly afterSequence: number } & WatchName)
  | ({ readonly kind: 'watch_told'; readonly events: readonly SessionEvent[] } & WatchName)
  | ({ readonly kind: 'watch_lost'; readonly reason: string } & WatchName)
  /** The client itself knows how its turn ended. */
  | ({ readonly kind: 'client_knows' } & TurnName)
  /** A promise of the engine rejected, which bugs alone do. */
  | { readonly kind: 'bug'; readonly error: unknown }
  /** Something went wrong, after somebody did what `on` says. */
  | { readonly kind: 'fault'; readonly fault: string; readonly on: string };

export type Observed = Fact & { readonly time: Millis; readonly step: number };

export interface History {
  readonly facts: readonly Observed[];
  record(fact: Fact): void;
  /** Hears each fact as it happens: faults strike at what somebody does. */
  listen(hear: (fact: Observed) => void): void;
}

export function createHistory(clock: { readonly now: Millis; readonly steps: number }): History {
  const facts: Observed[] = [];
  const listeners: ((fact: Observed) => void)[] = [];
  return {
    facts,
    record(fact) {
      const observed = { ...fact, time: clock.now, step: clock.steps };
      facts.push(observed);
      for (const hear of listeners) hear(observed);
    },
    listen: (hear) => listeners.push(hear),
  };
}
