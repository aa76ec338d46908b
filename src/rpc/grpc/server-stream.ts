import type { Message } from '@bufbuild/protobuf';
import type { handleServerStreamingCall } from '@grpc/grpc-js';
import type { Outcome, Refusal } from '../../core/refusal.ts';
import type { Outbound } from '../handlers.ts';
import { invokeThen, type Serving } from '../invoke.ts';
import type { MethodOf } from '../service.ts';
import { grpcStatus } from '../status.ts';
import { createOutlet } from './outlet.ts';
import { followCall } from './request.ts';

type ServerStream = MethodOf<'server_streaming'>;

/** Serves a server stream by grpc-js. */
export function serverStreamCall(
  { desc, handle }: ServerStream,
  serving: Serving,
): handleServerStreamingCall<Outcome<Message>, Buffer> {
  return (call) => {
    let waiting: (() => void)[] = [];
    const wake = (): void => {
      const woken = waiting;
      waiting = [];
      for (const resolve of woken) resolve();
    };
    // The grpc-js form of ending a stream with a status, behind what was written.
    const fail = (refusal: Refusal): void => {
      call.emit('error', grpcStatus(refusal));
      wake();
    };
    const request = followCall(call, desc, serving, { gone: wake, stopped: fail });
    const outlet = createOutlet(call, desc, wake);
    const out: Outbound<Message> = {
      async write(message) {
        if (!request.open) return;
        outlet.write(message);
        if (outlet.blocked) await new Promise<void>((resolve) => waiting.push(resolve));
      },
    };
    const answer = async (): Promise<Outcome<void>> => {
      const context = 'ok' in request.context ? request.context : await request.context;
      if (!context.ok) return context;
      if (!call.request.ok) return call.request;
      return handle(call.request.value, out, context.value);
    };
    invokeThen(desc, serving.observer, answer, (outcome) => {
      if (!request.finish()) return;
      if (outcome.ok) call.end();
      else fail(outcome.refusal);
    });
  };
}
