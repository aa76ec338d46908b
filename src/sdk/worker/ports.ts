import type { ConnectResponse } from '../../../gen/spindle/v1/worker_service_pb.ts';
import type { SdkClock, SdkRandom, StreamEnd } from '../ports.ts';
import type { HandlerSpans } from './handler-spans.ts';

/**
 * What a worker needs from the world. `createWorker` fills these in with grpc-js and the process's own
 * clock; a simulation fills them in with virtual time and a network of its own.
 */
export interface WorkerPorts {
  readonly clock: SdkClock;
  readonly random: SdkRandom;
  /** Calls back once, after everything that is ready now has run: what came up until then is one tick (5.2). */
  readonly soon: (run: () => void) => void;
  /** Opens a stream. Never throws, and never calls back before it returns: what goes wrong comes to `ended`. */
  readonly connect: (listener: StreamListener) => WorkerStream;
  /** Undefined: handlers have no spans. */
  readonly spans?: HandlerSpans | undefined;
}

/** What comes from a stream. Nothing comes after `ended`, nor after `cancel`. */
export interface StreamListener {
  received(response: ConnectResponse): void;
  /** What was blocked takes messages again. */
  writable(): void;
  /** Comes once. */
  ended(end: StreamEnd): void;
}

/** One stream of Connect. */
export interface WorkerStream {
  /** Writes one encoded ConnectRequest. False: nothing more until `writable`. */
  send(message: Uint8Array): boolean;
  /** Says that nothing more will be sent; the engine then ends the stream. */
  halfClose(): void;
  /** Drops the stream at once. */
  cancel(): void;
}
