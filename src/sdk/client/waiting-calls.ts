import type { CallToolRequest, CallUpdate } from '../../../gen/spindle/v1/tool_service_pb.ts';
import type { SpindleError } from '../spindle-error.ts';

/** Whoever waits for a call. One of the two ends it: an update that is the last, or `fail`. */
export interface Waiter {
  update(update: CallUpdate): void;
  fail(error: SpindleError): void;
}

/** A call that is in flight on the stream, or that will be on the next one. */
export interface WaitingCall {
  readonly request: CallToolRequest;
  readonly encoded: Uint8Array;
  /** Whoever waits. Nobody: the wait has ended, and the call goes on at the engine under its id. */
  readonly waiters: Set<Waiter>;
  /** It is to be stopped, on this stream or on the next. */
  cancelled: boolean;
}

/** Waits for the end of a call that is to be stopped, so that the engine is told on the next stream as well. */
const CANCELLER: Waiter = { update: () => undefined, fail: () => undefined };

/** The calls of a client that have not ended, by their ids. */
export interface WaitingCalls extends Iterable<WaitingCall> {
  get(callId: string): WaitingCall | undefined;
  add(request: CallToolRequest, encoded: Uint8Array, waiter: Waiter): void;
  attach(call: WaitingCall, waiter: Waiter): void;
  /** Ends one wait. The call stays known, so that whoever asks for it again joins it on its stream. */
  detach(call: WaitingCall, waiter: Waiter): void;
  /** The engine is told to stop the call, on every stream until it has ended. */
  stop(call: WaitingCall): void;
  forget(call: WaitingCall): void;
  /** Forgets what nobody waits for: its stream is gone. */
  sweep(): void;
  /** Somebody waits for one of them. */
  awaited(): boolean;
  readonly size: number;
}

export function createWaitingCalls(): WaitingCalls {
  const calls = new Map<string, WaitingCall>();
  /** How many of them nobody waits for: counted, since it is asked with every message. */
  let detached = 0;

  function attach(call: WaitingCall, waiter: Waiter): void {
    if (call.waiters.size === 0) detached -= 1;
    call.waiters.add(waiter);
  }

  return {
    get: (callId) => calls.get(callId),
    add(request, encoded, waiter) {
      calls.set(request.callId, { request, encoded, waiters: new Set([waiter]), cancelled: false });
    },
    attach,
    detach(call, waiter) {
      if (call.waiters.delete(waiter) && call.waiters.size === 0) detached += 1;
    },
    stop(call) {
      call.cancelled = true;
      attach(call, CANCELLER);
    },
    forget(call) {
      if (calls.delete(call.request.callId) && call.waiters.size === 0) detached -= 1;
    },
    sweep() {
      for (const [callId, { waiters }] of calls) if (waiters.size === 0) calls.delete(callId);
      detached = 0;
    },
    awaited: () => calls.size > detached,
    get size() {
      return calls.size;
    },
    [Symbol.iterator]: () => calls.values(),
  };
}
