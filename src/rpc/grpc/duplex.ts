import type { Message } from '@bufbuild/protobuf';
import type { handleBidiStreamingCall } from '@grpc/grpc-js';
import type { Outcome, Refusal } from '../../core/refusal.ts';
import type { Context } from '../context.ts';
import type { Duplex } from '../handlers.ts';
import { reportBug, type Serving } from '../invoke.ts';
import type { MethodOf } from '../service.ts';
import { grpcStatus } from '../status.ts';
import { createOutlet } from './outlet.ts';
import { followCall } from './request.ts';

type Bidi = MethodOf<'bidi_streaming'>;

const ignore = (): void => undefined;

/** Serves a bidirectional stream by grpc-js. */
export function duplexCall(
  { desc, handle }: Bidi,
  serving: Serving,
): handleBidiStreamingCall<Outcome<Message>, Buffer> {
  return (call) => {
    let receive: (message: Message) => void = ignore;
    let ended: () => void = ignore;
    let gone: (reason: string) => void = ignore;
    let drained: () => void = ignore;

    // The grpc-js form of ending a stream with a status, behind what was written.
    const fail = (refusal: Refusal): void => {
      call.emit('error', grpcStatus(refusal));
    };
    const lose = (refusal: Refusal): void => {
      fail(refusal);
      guarded(() => gone(refusal.message));
    };
    const request = followCall(call, desc, serving, {
      gone: () => guarded(() => gone('the peer went away, or its deadline passed')),
      stopped: lose,
    });
    /** Runs a part of the handler. One that throws has a bug, which costs this stream alone. */
    const guarded = (run: () => void): void => {
      try {
        run();
      } catch (error) {
        const refusal = reportBug(desc, serving.observer, error);
        if (request.abandon()) lose(refusal);
      }
    };
    const outlet = createOutlet(call, desc, () => {
      if (request.open) guarded(drained);
    });

    // Attached at once: grpc-js buffers a stream that nobody reads.
    call.on('data', (received: Outcome<Message>) => {
      if (!request.open) return;
      if (received.ok) guarded(() => receive(received.value));
      else if (request.abandon()) lose(received.refusal);
    });
    call.on('end', () => {
      if (request.open) guarded(ended);
    });

    const duplex: Duplex<Message, Message> = {
      peer: call.getPeer(),
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
      write(message) {
        if (!request.open) return true;
        guarded(() => outlet.write(message));
        return !outlet.blocked;
      },
      end(refusal) {
        if (!request.finish()) return;
        if (refusal === undefined) call.end();
        else fail(refusal);
      },
      pause: () => {
        call.pause();
      },
      resume: () => {
        call.resume();
      },
    };
    const begin = (context: Context): void => {
      if (context.ok) guarded(() => handle(duplex, context.value));
      else if (request.finish()) fail(context.refusal);
    };
    if ('ok' in request.context) {
      begin(request.context);
      return;
    }
    // Nobody is known who could read them yet, so messages wait at the peer.
    call.pause();
    request.context
      .then((context) => {
        if (!request.open) return;
        begin(context);
        call.resume();
      })
      .catch((error: unknown) => {
        const refusal = reportBug(desc, serving.observer, error);
        if (request.abandon()) lose(refusal);
      });
  };
}
