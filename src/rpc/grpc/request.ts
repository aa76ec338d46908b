import type { Metadata } from '@grpc/grpc-js';
import type { Outcome, Refusal } from '../../core/refusal.ts';
import { openContext } from '../context.ts';
import type { RequestContext } from '../handlers.ts';
import type { Serving } from '../invoke.ts';

/** What every grpc-js call has. */
interface Call {
  readonly metadata: Metadata;
  getPeer(): string;
  on(event: 'cancelled', listener: () => void): unknown;
}

/** One request on the gRPC port, from its arrival to the first of: answered, peer gone, server closed. */
export interface GrpcRequest {
  readonly context: Outcome<RequestContext>;
  /** False once it is over; then nobody reads an answer. */
  readonly open: boolean;
  /** Marks it answered. True for the first caller alone. */
  finish(): boolean;
}

/**
 * Follows a call. `gone` is called when the peer went away or its deadline passed, `stopped` when the server
 * closes and the peer should be told; the context's signal is aborted in both cases.
 */
export function followCall(
  call: Call,
  serving: Serving,
  over: { readonly gone: () => void; readonly stopped: (refusal: Refusal) => void },
): GrpcRequest {
  const abort = new AbortController();
  let open = true;
  const finish = (): boolean => {
    if (!open) return false;
    open = false;
    leave();
    return true;
  };
  const leave = serving.requests.add((refusal) => {
    if (!finish()) return;
    over.stopped(refusal);
    abort.abort();
  });
  // grpc-js emits it after an ordinary end as well, when `finish` has been called.
  call.on('cancelled', () => {
    if (!finish()) return;
    over.gone();
    abort.abort();
  });
  const header = (name: string): string | undefined => {
    // grpc-js splits values at commas; a trace state is a list with commas.
    const values = call.metadata.get(name);
    return values.length === 0 ? undefined : values.join(',');
  };
  return {
    context: openContext({ peer: call.getPeer(), header, signal: abort.signal }),
    get open() {
      return open;
    },
    finish,
  };
}
