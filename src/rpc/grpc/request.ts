import type { PeerCertificate } from 'node:tls';
import type { DescMethod } from '@bufbuild/protobuf';
import type { Metadata } from '@grpc/grpc-js';
import { SLOW_READER_MS } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import { certificateOf } from '../certificate.ts';
import { type Arrival, type Context, openContext } from '../context.ts';
import { nameOf, type Serving } from '../invoke.ts';
import { resetStream } from './reset-stream.ts';

/** What every grpc-js call has. */
interface Call {
  readonly metadata: Metadata;
  getPeer(): string;
  getAuthContext(): { readonly sslPeerCertificate?: PeerCertificate } | null;
  on(event: 'cancelled', listener: () => void): unknown;
}

/**
 * One request on the gRPC port, from its arrival to the first of: answered, peer gone, server closed. An answer that
 * its peer does not take within SLOW_READER_MS is dropped (5.10).
 */
export interface GrpcRequest {
  readonly context: Context | Promise<Context>;
  /** False once it is over; then nobody reads an answer. */
  readonly open: boolean;
  /** Marks it answered. True where it was open. */
  finish(): boolean;
  /** The same where no answer of the handler's ended it: its signal is aborted. */
  abandon(): boolean;
}

/** What grpc-js knows about a request. */
export function arrivalOf(
  call: Pick<Call, 'metadata' | 'getPeer' | 'getAuthContext'>,
  signal: AbortSignal,
  method: string,
): Arrival {
  return {
    peer: call.getPeer(),
    header(name) {
      // grpc-js splits values at commas; a trace state is a list with commas.
      const values = call.metadata.get(name);
      return values.length === 0 ? undefined : values.join(',');
    },
    certificate: () => certificateOf(call.getAuthContext()?.sslPeerCertificate),
    signal,
    method,
  };
}

/**
 * Follows a call. `gone` is called when the peer went away or its deadline passed, `stopped` when the server
 * closes and the peer should be told; the context's signal is aborted in both cases.
 */
export function followCall(
  call: Call,
  desc: DescMethod,
  serving: Serving,
  over: { readonly gone: () => void; readonly stopped: (refusal: Refusal) => void },
): GrpcRequest {
  const abort = new AbortController();
  let open = true;
  let stuck: NodeJS.Timeout | undefined;
  const finish = (): boolean => {
    if (!open) return false;
    open = false;
    leave();
    stuck = setTimeout(() => resetStream(call), SLOW_READER_MS);
    stuck.unref();
    return true;
  };
  const abandon = (): boolean => {
    if (!finish()) return false;
    abort.abort();
    return true;
  };
  const leave = serving.requests.add((refusal) => {
    if (abandon()) over.stopped(refusal);
  });
  // grpc-js emits it when the peer is gone, and also when an ordinary end has been sent.
  call.on('cancelled', () => {
    if (abandon()) over.gone();
    clearTimeout(stuck);
  });
  return {
    context: openContext(serving, arrivalOf(call, abort.signal, nameOf(desc))),
    get open() {
      return open;
    },
    finish,
    abandon,
  };
}
