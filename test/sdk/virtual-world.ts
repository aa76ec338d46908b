/** Virtual time and a network that is driven by hand: what a driver of the SDK runs over in tests. */
import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import {
  ConnectRequestSchema,
  ConnectResponseSchema,
  type EngineFrameSchema,
  type WorkerFrame,
} from '../../gen/spindle/v1/worker_service_pb.ts';
import type { SdkClock } from '../../src/sdk/ports.ts';
import type { StreamListener, WorkerPorts } from '../../src/sdk/worker/ports.ts';

export type FrameInit = NonNullable<MessageInitShape<typeof EngineFrameSchema>['kind']>;

export interface VirtualClock extends SdkClock {
  /** Moves time on, and rings what becomes due on the way. */
  advance(ms: number): void;
}

export function createVirtualClock(start = 1_000_000): VirtualClock {
  let now = start;
  const alarms = new Set<{ readonly at: number; readonly ring: () => void }>();
  return {
    now: () => now,
    alarm(at, ring) {
      const entry = { at, ring };
      alarms.add(entry);
      return () => alarms.delete(entry);
    },
    advance(ms) {
      const until = now + ms;
      for (;;) {
        const due = [...alarms].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        alarms.delete(due);
        now = Math.max(now, due.at);
        due.ring();
      }
      now = until;
    },
  };
}

/** One stream, as its engine sees it. */
export interface VirtualStream {
  /** Every frame that came, in order. */
  readonly frames: WorkerFrame['kind'][];
  /** How many frames each message carried. */
  readonly batches: number[];
  state: 'open' | 'half_closed' | 'cancelled' | 'ended';
  /** Takes no more messages, as a slow reader does. */
  blocked: boolean;
  send(...kinds: FrameInit[]): void;
  end(code: number, details?: string): void;
  unblock(): void;
}

export interface VirtualWorld {
  readonly ports: WorkerPorts;
  readonly clock: VirtualClock;
  readonly streams: VirtualStream[];
  /** The newest stream. */
  readonly stream: VirtualStream;
  /** Lets everything run that is ready: handlers, and then what their tick wrote. */
  settle(): Promise<void>;
}

export function createVirtualWorld(draw: () => number = () => 0.5): VirtualWorld {
  const clock = createVirtualClock();
  const streams: VirtualStream[] = [];
  let ready: (() => void)[] = [];
  let tokens = 0;

  function connect(listener: StreamListener): ReturnType<WorkerPorts['connect']> {
    const stream: VirtualStream = {
      frames: [],
      batches: [],
      state: 'open',
      blocked: false,
      send(...kinds) {
        // After it has been cancelled nothing may come: the worker stopped reading (5.5).
        listener.received(create(ConnectResponseSchema, { frames: kinds.map((kind) => ({ kind })) }));
      },
      end(code, details = 'over') {
        stream.state = 'ended';
        listener.ended({ code, details });
      },
      unblock() {
        stream.blocked = false;
        listener.writable();
      },
    };
    streams.push(stream);
    return {
      send(message) {
        if (stream.state !== 'open')
          throw new Error(`a message was written to a stream that is ${stream.state}`);
        const { frames } = fromBinary(ConnectRequestSchema, message);
        stream.batches.push(frames.length);
        stream.frames.push(...frames.map(({ kind }) => kind));
        return !stream.blocked;
      },
      halfClose() {
        stream.state = 'half_closed';
      },
      cancel() {
        stream.state = 'cancelled';
      },
    };
  }

  return {
    clock,
    streams,
    get stream() {
      const newest = streams.at(-1);
      if (newest === undefined) throw new Error('no stream has been opened');
      return newest;
    },
    ports: {
      clock,
      random: {
        draw,
        token: () => `token-${tokens++}`,
      },
      soon: (run) => ready.push(run),
      connect,
    },
    async settle() {
      for (let round = 0; round < 3; round++) {
        // Two turns of the real loop: every promise that can be settled has been.
        await new Promise((resolve) => setImmediate(resolve));
        const now = ready;
        ready = [];
        for (const run of now) run();
      }
    },
  };
}
