import type { Message } from '@bufbuild/protobuf';
import type { handleUnaryCall } from '@grpc/grpc-js';
import { accepted, type Outcome } from '../../core/refusal.ts';
import { invokeThen, type Serving } from '../invoke.ts';
import type { MethodOf } from '../service.ts';
import { grpcStatus } from '../status.ts';
import { encode } from './codec.ts';
import { followCall } from './request.ts';

type Unary = MethodOf<'unary'>;

/** Serves a unary method by grpc-js. */
export function unaryCall(
  { desc, handle }: Unary,
  serving: Serving,
): handleUnaryCall<Outcome<Message>, Buffer> {
  return (call, respond) => {
    const request = followCall(call, desc, serving, {
      gone: () => undefined,
      stopped: (refusal) => respond(grpcStatus(refusal)),
    });
    const answer = async (): Promise<Outcome<Buffer>> => {
      const context = 'ok' in request.context ? request.context : await request.context;
      if (!context.ok) return context;
      if (!call.request.ok) return call.request;
      const outcome = await handle(call.request.value, context.value);
      return outcome.ok ? accepted(encode(desc, outcome.value)) : outcome;
    };
    invokeThen(desc, serving.observer, answer, (outcome) => {
      if (!request.finish()) return;
      if (outcome.ok) respond(null, outcome.value);
      else respond(grpcStatus(outcome.refusal));
    });
  };
}
