import type {
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageShape,
} from '@bufbuild/protobuf';
import type { Caller } from '../../gen/spindle/v1/call_pb.ts';
import type { Outcome, Refusal } from '../core/refusal.ts';
import type { AuditFact, Lifetime } from '../engine/ports.ts';

/** What a handler knows about a request beside its message. It knows no port and no protocol. */
export interface RequestContext {
  /** Who asks. Shared: never changed. */
  readonly caller: Caller;
  /** How long its credential is good for; absent where that does not end. Handlers of streams in both directions end with it. */
  readonly lifetime: Lifetime | undefined;
  /** Writes into the record of who did what; absent where none is kept. */
  readonly record: ((fact: Omit<AuditFact, 'caller' | 'peer'>) => void) | undefined;
  /** Aborted when nobody waits any more: the peer went away, its deadline passed, or the server closes. */
  readonly signal: AbortSignal;
  /** traceparent, tracestate and baggage, as far as they are there and well formed. */
  readonly traceContext: Readonly<Record<string, string>>;
  /** The peer's address and port, for logs. */
  readonly peer: string;
}

/**
 * Answers one message with one. A refusal is a value; a rejection is a bug, which is reported and answered
 * with INTERNAL.
 */
export type UnaryHandler<I, O> = (request: I, context: RequestContext) => Promise<Outcome<O>>;

/** Where a server stream's handler writes. */
export interface Outbound<O> {
  /**
   * Resolves when there is room for the next message, so a handler that awaits it buffers nothing. It
   * resolves at once, and the message is dropped, when nobody reads any more: the context's signal says so.
   */
  write(message: O): Promise<void>;
}

/** Answers one message with many. The stream ends when the promise settles, as a unary call would. */
export type ServerStreamHandler<I, O> = (
  request: I,
  out: Outbound<O>,
  context: RequestContext,
) => Promise<Outcome<void>>;

/**
 * Both directions of a stream. Callbacks instead of iterables, because each message then costs no promise.
 * They are registered before the handler returns; the first message comes later. A callback that throws is a
 * bug: it is reported, and ends the stream with INTERNAL.
 */
export interface Duplex<I, O> {
  /** The peer's address and port, for logs. */
  readonly peer: string;
  /** Messages in order, none after `end`, `onEnd` or `onGone`. */
  onMessage(receive: (message: I) => void): void;
  /** The peer has said everything and still reads: the handler has to call `end`. */
  onEnd(ended: () => void): void;
  /**
   * The stream is over, and not by the handler's `end`: the peer went away, its deadline passed, it sent bytes
   * that are no message, or the server closes. At most once, and nothing follows it.
   */
  onGone(gone: (reason: string) => void): void;
  /** There is room again, after a `write` that answered false. */
  onDrain(drained: () => void): void;
  /**
   * Takes a message. False when MAX_UNSENT_BYTES wait for the peer: it was taken, and the handler writes no
   * more than it must until `onDrain`. True and without effect after the end.
   */
  write(message: O): boolean;
  /** Ends the stream behind what was written: with OK, or with a refusal. Only the first call counts. */
  end(refusal?: Refusal): void;
  /** Stops reading, so that the peer is held back by flow control. A few messages may be read ahead. */
  pause(): void;
  resume(): void;
}

/** Talks in both directions. */
export type BidiHandler<I, O> = (duplex: Duplex<I, O>, context: RequestContext) => void;

/** The handler that a method needs. Client streams do not occur in the contracts. */
export type Handler<M extends DescMethod> =
  M extends DescMethodUnary<infer I, infer O>
    ? UnaryHandler<MessageShape<I>, MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? ServerStreamHandler<MessageShape<I>, MessageShape<O>>
      : M extends DescMethodBiDiStreaming<infer I, infer O>
        ? BidiHandler<MessageShape<I>, MessageShape<O>>
        : never;

/** One handler for each method of a service: a service that lacks one does not compile. */
export type Handlers<S extends DescService> = {
  readonly [P in keyof S['method']]: Handler<S['method'][P]>;
};
