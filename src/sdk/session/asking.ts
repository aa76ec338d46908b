import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { Method } from '../grpc/method.ts';
import type { Requests } from '../grpc/requests.ts';
import { createPatience, mayPass, type PatienceOptions } from './patience.ts';

/** Single requests that are safe to repeat: they are sent again until the engine has answered. */
export interface Asking {
  /** Rejects with a SpindleError, or with the reason of the signal. */
  ask<Input extends DescMessage, Output extends DescMessage>(
    method: Method<Input, Output>,
    request: MessageInitShape<Input>,
    signal?: AbortSignal,
  ): Promise<MessageShape<Output>>;
}

export function createAsking(requests: Pick<Requests, 'unary'>, options: PatienceOptions): Asking {
  return {
    async ask(method, request, signal) {
      const patience = createPatience(options);
      for (;;) {
        signal?.throwIfAborted();
        try {
          return await requests.unary(method, request);
        } catch (error) {
          if (!mayPass(error)) throw error;
          await patience.wait(error, signal);
        }
      }
    },
  };
}
