import type { SessionEvent, ToolCallFinished, ToolCallRequested } from '../../../gen/spindle/v1/event_pb.ts';
import type { Hello } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { Millis } from '../../../src/core/time.ts';
import type { AnswerOutcome } from '../../../src/sdk/outcome.ts';
import type { Observed } from '../world/history.ts';
import { callName } from '../world/tools.ts';
import type { Intent } from '../world/workload.ts';
import type { Story } from '../world/world.ts';

/** A rule that was broken, and how. */
export interface Violation {
  readonly rule: string;
  readonly what: string;
  readonly time: Millis;
}

export type Report = (rule: string, what: string, time?: Millis) => void;

/** An event of a log, with the fact that made it durable. */
export interface Recorded {
  readonly event: SessionEvent;
  /** The place of its fact in the history: what has a higher one came later. */
  readonly index: number;
  readonly time: Millis;
  /** Empty where another owner of the session wrote. */
  readonly engine: string;
}

/** One call: what was asked for, and everything that is on record about it. */
export interface CallEvidence {
  readonly callId: string;
  /** It is alone in its session (4.12); else it belongs to a conversation. */
  readonly isDirect: boolean;
  readonly intent: Intent | undefined;
  readonly records: Recorded[];
  requested: ToolCallRequested | undefined;
  end: { readonly value: ToolCallFinished; readonly at: Recorded } | undefined;
}

/** One dispatch, as the log binds it. */
export interface LeaseEvidence {
  readonly token: string;
  readonly call: CallEvidence;
  readonly attempt: number;
  readonly instanceId: string;
  readonly streamNumber: number;
  readonly dispatched: Recorded;
  /** The process to whose stream it was written. */
  writtenTo: string | undefined;
  /** Events that name it, the dispatch itself left out. */
  readonly records: Recorded[];
  /** What ran under it. */
  readonly runs: Run[];
}

export interface Run {
  readonly worker: string;
  readonly index: number;
  readonly time: Millis;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly callId: string;
  readonly leaseToken: string;
  end: { readonly index: number; readonly outcome: AnswerOutcome } | undefined;
}

export interface WorkerEvidence {
  readonly name: string;
  readonly instanceId: string;
  readonly startedAt: number;
  /** The fact that ended it. */
  over: { readonly index: number; readonly time: Millis } | undefined;
}

export interface StreamEvidence {
  readonly stream: number;
  readonly worker: string;
  readonly engine: string;
  hello: { readonly index: number; readonly hello: Hello } | undefined;
  welcomedAt: { readonly index: number; readonly time: Millis } | undefined;
  endedAt: { readonly index: number; readonly time: Millis } | undefined;
}

/** The story, sorted by what it is about. */
export interface Evidence {
  readonly story: Story;
  readonly facts: readonly Observed[];
  readonly calls: ReadonlyMap<string, CallEvidence>;
  readonly leases: ReadonlyMap<string, LeaseEvidence>;
  readonly runs: readonly Run[];
  readonly workers: ReadonlyMap<string, WorkerEvidence>;
  readonly streams: ReadonlyMap<number, StreamEvidence>;
  /** When engines died. */
  readonly engines: ReadonlyMap<
    string,
    { startedAt: Millis; listensAt: Millis | undefined; diedAt: { index: number; time: Millis } | undefined }
  >;
}

export function gather(story: Story): Evidence {
  const { facts } = story;
  const calls = new Map<string, CallEvidence>();
  const leases = new Map<string, LeaseEvidence>();
  const runs: Run[] = [];
  const running = new Map<string, Run>();
  const workers = new Map<string, WorkerEvidence>();
  const streams = new Map<number, StreamEvidence>();
  const engines: Map<
    string,
    { startedAt: Millis; listensAt: Millis | undefined; diedAt: { index: number; time: Millis } | undefined }
  > = new Map();
  const intents = new Map(story.intents.map((intent) => [intent.callId, intent]));

  const commit = (sessionId: string, record: Recorded): void => {
    const isDirect = sessionId.startsWith('call:');
    const own = isDirect ? sessionId.replace(/^call:/, '') : callOf(record.event);
    if (own === '') return;
    const callId = callName(sessionId, own);
    const call = calls.get(callId) ?? {
      callId,
      isDirect,
      intent: intents.get(callId),
      records: [],
      requested: undefined,
      end: undefined,
    };
    calls.set(callId, call);
    call.records.push(record);
    const { event } = record;
    const { kind, journal } = event;
    if (kind.case === 'toolCallRequested') call.requested ??= kind.value;
    if (kind.case === 'toolCallFinished') call.end ??= { value: kind.value, at: record };
    const token = journal?.leaseToken ?? '';
    if (token === '') return;
    if (kind.case === 'toolCallDispatched') {
      leases.set(token, {
        token,
        call,
        attempt: kind.value.attempt,
        instanceId: instanceOf(event),
        streamNumber: journal?.workerStreamNumber ?? 0,
        dispatched: record,
        writtenTo: undefined,
        records: [],
        runs: [],
      });
    } else leases.get(token)?.records.push(record);
  };

  const streamOf = (fact: { stream: number; worker: string; engine: string }): StreamEvidence => {
    const known = streams.get(fact.stream);
    if (known !== undefined && known.engine !== '') return known;
    const { stream, worker, engine } = fact;
    const made: StreamEvidence = {
      stream,
      worker,
      engine,
      hello: undefined,
      welcomedAt: undefined,
      endedAt: undefined,
    };
    streams.set(stream, made);
    return made;
  };

  facts.forEach((fact, index) => {
    const { time } = fact;
    switch (fact.kind) {
      case 'committed':
        for (const event of fact.events) commit(fact.sessionId, { event, index, time, engine: fact.engine });
        return;
      case 'run_started': {
        const { worker, attempt, idempotencyKey, callId, leaseToken } = fact;
        const run: Run = { worker, index, time, attempt, idempotencyKey, callId, leaseToken, end: undefined };
        runs.push(run);
        running.set(`${worker} ${leaseToken}`, run);
        leases.get(leaseToken)?.runs.push(run);
        return;
      }
      case 'run_ended': {
        const run = running.get(`${fact.worker} ${fact.leaseToken}`);
        if (run !== undefined) run.end = { index, outcome: fact.outcome };
        return;
      }
      case 'worker_started':
        workers.set(fact.worker, {
          name: fact.worker,
          instanceId: fact.instanceId,
          startedAt: index,
          over: undefined,
        });
        return;
      case 'worker_died':
      case 'worker_ended': {
        const worker = workers.get(fact.worker);
        if (worker !== undefined) worker.over ??= { index, time };
        return;
      }
      case 'engine_started':
        engines.set(fact.engine, { startedAt: time, listensAt: undefined, diedAt: undefined });
        return;
      case 'engine_listens': {
        const engine = engines.get(fact.engine);
        if (engine !== undefined) engine.listensAt = time;
        return;
      }
      case 'engine_died': {
        const engine = engines.get(fact.engine);
        if (engine !== undefined) engine.diedAt = { index, time };
        for (const stream of streams.values())
          if (stream.engine === fact.engine) stream.endedAt ??= { index, time };
        return;
      }
      case 'engine_read':
        if (fact.frame.case === 'hello') streamOf(fact).hello ??= { index, hello: fact.frame.value };
        return;
      case 'engine_wrote':
        if (fact.frame.case === 'welcome') streamOf(fact).welcomedAt ??= { index, time };
        if (fact.frame.case === 'dispatch') {
          const lease = leases.get(fact.frame.value.leaseToken);
          if (lease !== undefined) lease.writtenTo = fact.worker;
        }
        return;
      case 'stream_ended':
        if (fact.side === 'engine') streamOf(fact).endedAt ??= { index, time };
        return;
      default:
        return;
    }
  });
  return { story, facts, calls, leases, runs, workers, streams, engines };
}

/** The tool call of a conversation that an event is about; empty where it is about none. */
function callOf({ kind }: SessionEvent): string {
  const isOfCall = kind.case?.startsWith('toolCall') === true || kind.case?.startsWith('interrupt') === true;
  return isOfCall && kind.value !== undefined && 'callId' in kind.value ? kind.value.callId : '';
}

/** What the worker of a dispatch calls itself; behind a tilde the engine tells processes of one name apart. */
export function instanceOf({ journal }: SessionEvent): string {
  return (journal?.workerInstanceId ?? '').replace(/~[^~]*$/, '');
}
