import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type ConnectRequest,
  ConnectRequestSchema,
  type ConnectResponse,
  ConnectResponseSchema,
} from '../../../gen/spindle/v1/worker_service_pb.ts';
import { codeOf } from '../../../src/rpc/status.ts';
import type { StreamListener, WorkerStream } from '../../../src/sdk/worker/ports.ts';
import type { Transport } from '../../../src/workers/transport.ts';
import type { Dice } from './dice.ts';
import type { History, StreamName } from './history.ts';
import { createPipe, type Pipe } from './pipe.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** Who takes a new stream: the engine that listens now. */
export interface Accepting {
  readonly process: Process;
  serve(transport: Transport): void;
}

/** A stream between two processes, which can be cut. */
export interface Connection {
  readonly name: StreamName;
  readonly worker: Process;
  readonly open: boolean;
  /** Breaks it: what is under way may be lost on either side, and each side learns of it or not. */
  cut(how: 'noticed' | 'silent'): void;
  /** Nothing moves in one direction for a while. */
  delay(direction: 'to_engine' | 'to_worker', millis: number): void;
  /** Puts a message of the worker's on the wire, as if it had sent it. */
  inject(message: Uint8Array): void;
}

export interface Network {
  /** The port of a worker's process. */
  connect(worker: Process, listener: StreamListener): WorkerStream;
  /** Streams that are not over on both sides. */
  connections(): readonly Connection[];
  /** A process died: its peers may learn of it. */
  died(process: Process): void;
}

const UNAVAILABLE = 14;

export function createNetwork(
  scheduler: Scheduler,
  dice: Dice,
  history: History,
  accepting: () => Accepting | undefined,
): Network {
  const streams = new Map<
    number,
    { connection: Connection; engine: () => Process | undefined; lose: (p: Process) => void }
  >();
  let made = 0;

  const connect = (worker: Process, listener: StreamListener): WorkerStream => {
    const number = ++made;
    let engine: Process | undefined;
    let name: StreamName = { stream: number, worker: worker.name, engine: '' };
    /** What each side still takes. */
    const live = { worker: true, engine: false };
    let broken = false;
    let receive: (message: ConnectRequest) => void = () => undefined;
    let ended: () => void = () => undefined;
    let gone: (reason: string) => void = () => undefined;
    let drained: () => void = () => undefined;

    const settle = (): void => {
      if (!live.worker && !live.engine) streams.delete(number);
    };
    const endWorker = (code: number, details: string): void => {
      if (!live.worker) return;
      live.worker = false;
      history.record({ kind: 'stream_ended', side: 'worker', ...name });
      settle();
      listener.ended({ code, details });
    };
    const endEngine = (reason: string): void => {
      if (!live.engine) return;
      live.engine = false;
      history.record({ kind: 'stream_ended', side: 'engine', ...name });
      settle();
      gone(reason);
    };

    const toEngine: Pipe<Uint8Array> = createPipe(scheduler, dice, (bytes) => {
      if (!live.engine) return;
      const message = fromBinary(ConnectRequestSchema, bytes);
      for (const { kind } of message.frames) history.record({ kind: 'engine_read', frame: kind, ...name });
      receive(message);
    });
    const toWorker: Pipe<Uint8Array> = createPipe(scheduler, dice, (bytes) => {
      if (!live.worker) return;
      const message = fromBinary(ConnectResponseSchema, bytes);
      for (const { kind } of message.frames) history.record({ kind: 'worker_read', frame: kind, ...name });
      listener.received(message);
    });
    toEngine.onDrain(worker, () => {
      if (live.worker) listener.writable();
    });
    toWorker.to(worker);

    const accept = (): void => {
      const taker = accepting();
      if (broken) return;
      if (taker === undefined || !taker.process.alive) {
        scheduler.at(scheduler.now + dice.latency(3, 100), 'network', worker, () =>
          endWorker(UNAVAILABLE, 'nobody listens'),
        );
        return;
      }
      engine = taker.process;
      name = { ...name, engine: engine.name };
      live.engine = true;
      toWorker.onDrain(engine, () => {
        if (live.engine) drained();
      });
      const transport: Transport = {
        peer: `${worker.name}:${number}`,
        onMessage: (callback) => {
          receive = callback;
        },
        onEnd: (callback) => {
          ended = callback;
        },
        onGone: (callback) => {
          gone = callback;
        },
        onDrain: (callback) => {
          drained = callback;
        },
        write(message: ConnectResponse) {
          if (!live.engine) return true;
          for (const { kind } of message.frames)
            history.record({ kind: 'engine_wrote', frame: kind, ...name });
          return toWorker.send(toBinary(ConnectResponseSchema, message));
        },
        end(refusal) {
          if (!live.engine) return;
          live.engine = false;
          history.record({ kind: 'stream_ended', side: 'engine', ...name });
          settle();
          const code = refusal === undefined ? 0 : codeOf(refusal.reason);
          toWorker.last(() => endWorker(code, refusal?.message ?? ''));
        },
        pause: () => toEngine.pause(),
        resume: () => toEngine.resume(),
      };
      // A frozen engine takes it when it thaws, and before anything that comes on it.
      scheduler.at(scheduler.now, 'network', engine, () => taker.serve(transport));
      toEngine.to(engine);
    };
    scheduler.at(scheduler.now + dice.latency(2, 200), 'network', undefined, accept);

    const connection: Connection = {
      get name() {
        return name;
      },
      worker,
      get open() {
        return !broken && live.worker && live.engine;
      },
      cut(how) {
        if (broken) return;
        broken = true;
        toEngine.cut(how === 'silent');
        toWorker.cut(how === 'silent');
        if (how === 'silent') return;
        notify();
      },
      delay(direction, millis) {
        (direction === 'to_engine' ? toEngine : toWorker).hold(millis);
      },
      inject: (message) => {
        if (live.worker && !broken) toEngine.send(message);
      },
    };

    /** Each side learns of the cut in its own time, the engine sometimes only by the silence. */
    function notify(): void {
      scheduler.at(scheduler.now + dice.latency(5, 3_000), 'network', worker, () =>
        endWorker(UNAVAILABLE, 'connection reset'),
      );
      if (engine !== undefined && !dice.chance(0.2)) {
        scheduler.at(scheduler.now + dice.latency(5, 3_000), 'network', engine, () =>
          endEngine('connection reset'),
        );
      }
    }

    streams.set(number, {
      connection,
      engine: () => engine,
      lose(process) {
        const other = process === worker ? engine : worker;
        if (process === worker) live.worker = false;
        else live.engine = false;
        settle();
        if (broken) return;
        broken = true;
        toEngine.cut(false);
        toWorker.cut(false);
        // A host that vanishes says nothing; a process that dies resets its connections.
        if (other === undefined || dice.chance(0.2)) return;
        scheduler.at(scheduler.now + dice.latency(5, 1_000), 'network', other, () =>
          other === worker ? endWorker(UNAVAILABLE, 'connection reset') : endEngine('connection reset'),
        );
      },
    });

    return {
      send(bytes) {
        if (!live.worker) return true;
        for (const { kind } of fromBinary(ConnectRequestSchema, bytes).frames)
          history.record({ kind: 'worker_wrote', frame: kind, ...name });
        return toEngine.send(bytes);
      },
      halfClose: () => toEngine.last(() => live.engine && ended()),
      cancel() {
        if (!live.worker) return;
        live.worker = false;
        history.record({ kind: 'stream_ended', side: 'worker', ...name });
        settle();
        // The reset may overtake what was sent before it.
        if (broken) return;
        if (dice.chance(0.5)) toEngine.last(() => endEngine('the worker dropped the stream'));
        else
          scheduler.at(scheduler.now + dice.latency(3, 300), 'network', engine, () =>
            endEngine('the worker dropped the stream'),
          );
      },
    };
  };

  return {
    connect,
    connections: () => [...streams.values()].map(({ connection }) => connection),
    died(process) {
      for (const { connection, engine, lose } of [...streams.values()]) {
        if (connection.worker === process || engine() === process) lose(process);
      }
    },
  };
}
