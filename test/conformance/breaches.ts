import { create } from '@bufbuild/protobuf';
import type { StatusObject } from '@grpc/grpc-js';
import {
  type EngineFrame,
  type WorkerFrame,
  WorkerFrameSchema,
} from '../../gen/spindle/v1/worker_service_pb.ts';

export interface Wires {
  readonly toEngine: (frames: WorkerFrame[]) => void;
  readonly toWorker: (frames: EngineFrame[]) => void;
  readonly cut: () => void;
}

/** One way to break a rule, over all streams of a worker. */
export interface Breach {
  stream(wires: Wires): {
    fromWorker(frames: readonly WorkerFrame[]): void;
    fromEngine(frames: readonly EngineFrame[]): void;
  };
  status(status: StatusObject): Pick<StatusObject, 'code' | 'details'>;
  exitCode(code: number): number;
}

type Tamper = {
  /** Changes a frame of the worker; several, or none, may come of it. */
  readonly worker?: (frame: WorkerFrame) => readonly WorkerFrame[];
  readonly engine?: (frame: EngineFrame) => readonly EngineFrame[];
  readonly status?: Breach['status'];
  readonly exitCode?: (code: number) => number;
  /** Lets one dispatch run at a time. */
  readonly serial?: boolean;
};

const UNAVAILABLE = 14;
const INVALID_ARGUMENT = 3;
const beat = create(WorkerFrameSchema, { kind: { case: 'heartbeat', value: { sequence: 1 } } });

type Kind = NonNullable<WorkerFrame['kind']['case']>;
type Values = { readonly [K in Kind]: Extract<WorkerFrame['kind'], { case: K }>['value'] };

/** Changes one kind of frame in place, or drops it, and lets the others pass. */
function edit<K extends Kind>(kind: K, keep: (value: Values[K]) => boolean): Tamper {
  return {
    // Case and value belong together, which a type parameter cannot say.
    worker: (frame) => (frame.kind.case === kind && !keep(frame.kind.value as Values[K]) ? [] : [frame]),
  };
}

const drop = (): boolean => false;

/** Each breach by its name. State is made anew for each worker. */
const TAMPERS: Readonly<Record<string, () => Tamper>> = {
  none: () => ({}),
  'hello is not first': () => ({
    worker: (frame) => (frame.kind.case === 'hello' ? [beat, frame] : [frame]),
  }),
  'no name of its own': () =>
    edit('hello', (hello) => {
      hello.instanceId = '';
      return true;
    }),
  'a tool is missing': () => edit('hello', (hello) => hello.tools.pop() !== undefined),
  'no heartbeat at once': () => {
    let beats = 0;
    return edit('heartbeat', () => ++beats > 1);
  },
  'an answer is lost': () => edit('answer', drop),
  'an answer comes twice': () => ({
    worker: (frame) => (frame.kind.case === 'answer' ? [frame, frame] : [frame]),
  }),
  'one at a time': () => ({ serial: true }),
  'values are read and written': () =>
    edit('answer', ({ outcome }) => {
      if (outcome.case === 'valueJson') outcome.value = JSON.stringify(JSON.parse(outcome.value));
      return true;
    }),
  'the proposal is not taken': () =>
    edit('answer', (answer) => {
      if (answer.outcome.case === 'accept') answer.outcome = { case: 'valueJson', value: 'null' };
      return true;
    }),
  'retryable is lost': () =>
    edit('answer', ({ outcome }) => {
      if (outcome.case === 'error') outcome.value.retryable = false;
      return true;
    }),
  'the deferral has no timeout': () =>
    edit('answer', ({ outcome }) => {
      if (outcome.case === 'toolDefer') delete outcome.value.timeout;
      return true;
    }),
  'cancel is ignored': () => ({ engine: (frame) => (frame.kind.case === 'cancel' ? [] : [frame]) }),
  'no progress': () => edit('progress', drop),
  'progress goes back': () =>
    edit('progress', (progress) => {
      progress.completed = 21 - (progress.completed ?? 0);
      return true;
    }),
  'heartbeats name nothing': () =>
    edit('heartbeat', (heartbeat) => {
      heartbeat.held = [];
      return true;
    }),
  'heartbeats have read nothing': () =>
    edit('heartbeat', (heartbeat) => {
      heartbeat.receivedThrough = 0;
      return true;
    }),
  'the resume token is lost': () =>
    edit('hello', (hello) => {
      hello.resumeToken = '';
      return true;
    }),
  'the hello names nothing': () =>
    edit('hello', (hello) => {
      hello.held = [];
      return true;
    }),
  'the answer is not sent again': () => {
    const sent = new Set<string>();
    return edit('answer', ({ leaseToken }) => {
      if (sent.has(leaseToken)) return false;
      sent.add(leaseToken);
      return true;
    });
  },
  'a verdict ends no duty': () => ({ engine: (frame) => (frame.kind.case === 'acknowledge' ? [] : [frame]) }),
  'abandon is ignored': () => ({
    engine: (frame) => {
      if (frame.kind.case === 'welcome' || frame.kind.case === 'heartbeatReply')
        frame.kind.value.abandon = [];
      return [frame];
    },
  }),
  'any result is sent': () => ({
    engine: (frame) => {
      if (frame.kind.case === 'welcome') frame.kind.value.maxMessageBytes = 1 << 30;
      return [frame];
    },
  }),
  'an unknown trigger is swallowed': () => edit('reject', drop),
  'an unknown frame ends the stream': () => ({
    engine: (frame) => {
      if (frame.kind.case === undefined) throw new Error('unknown frame');
      return [frame];
    },
  }),
  'go-away is ignored': () => ({ engine: (frame) => (frame.kind.case === 'goAway' ? [] : [frame]) }),
  'it reconnects for ever': () => ({
    status: ({ code, details }) => ({ code: code === INVALID_ARGUMENT ? UNAVAILABLE : code, details }),
  }),
  'it never reconnects': () => ({
    status: ({ code, details }) => ({ code: code === UNAVAILABLE ? INVALID_ARGUMENT : code, details }),
  }),
  'the trace ends here': () => ({
    engine: (frame) => {
      if (frame.kind.case === 'dispatch') frame.kind.value.traceContext = {};
      return [frame];
    },
  }),
  'SIGTERM says nothing': () => edit('drain', drop),
  'it leaves with an error': () => ({ exitCode: () => 1 }),
};

export const BREACHES: readonly string[] = Object.keys(TAMPERS);

export function createBreach(name: string): Breach {
  const tamper = TAMPERS[name]?.() ?? {};
  const { worker = (frame) => [frame], engine = (frame) => [frame], exitCode = (code) => code } = tamper;
  return {
    stream({ toEngine, toWorker, cut }) {
      const queue: EngineFrame[] = [];
      let busy = false;
      const deliver = (frames: readonly EngineFrame[]): void => {
        if (tamper.serial !== true) {
          toWorker([...frames]);
          return;
        }
        for (const frame of frames) {
          if (frame.kind.case === 'dispatch') queue.push(frame);
          else toWorker([frame]);
        }
        release();
      };
      const release = (): void => {
        const next = busy ? undefined : queue.shift();
        if (next === undefined) return;
        busy = true;
        toWorker([next]);
      };
      return {
        fromWorker(frames) {
          toEngine(frames.flatMap(worker));
          if (!frames.some(({ kind }) => kind.case === 'answer')) return;
          busy = false;
          release();
        },
        fromEngine(frames) {
          try {
            deliver(frames.flatMap(engine));
          } catch {
            cut();
          }
        },
      };
    },
    status: tamper.status ?? ((status) => status),
    exitCode,
  };
}
