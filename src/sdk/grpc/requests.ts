import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { Client, ServiceError } from '@grpc/grpc-js';
import type { Millis } from '../../core/time.ts';
import { clientClosed, SpindleError } from '../spindle-error.ts';
import type { ConnectOptions } from './connect-options.ts';
import { bufferOf, type Method, pathOf } from './method.ts';
import { endOf } from './status.ts';

/** Single requests, and requests with a stream of responses, on one connection that they share. */
export interface Requests {
  /** Rejects with a SpindleError. */
  unary<Input extends DescMessage, Output extends DescMessage>(
    method: Method<Input, Output>,
    request: MessageInitShape<Input>,
  ): Promise<MessageShape<Output>>;
  /**
   * Throws a SpindleError while it is read, and the reason of the signal once that is aborted. Ending the iteration
   * ends the request.
   */
  stream<Input extends DescMessage, Output extends DescMessage>(
    method: Method<Input, Output>,
    request: MessageInitShape<Input>,
    signal?: AbortSignal,
  ): AsyncGenerator<MessageShape<Output>, void, undefined>;
  close(): void;
}

/** Connects with the first request. A single request that is not answered within `timeoutMs` fails. */
export function createRequests(options: ConnectOptions & { readonly timeoutMs: Millis }): Requests {
  let channel: Client | undefined;
  let closed = false;

  async function connection() {
    const { openChannel, requestMetadata } = await import('./channel.ts');
    const metadata = await requestMetadata(options.token);
    if (closed) {
      throw clientClosed();
    }
    channel ??= openChannel(options);
    return { client: channel, metadata };
  }

  return {
    async unary(method, request) {
      const { client, metadata } = await connection();
      const deadline = Date.now() + options.timeoutMs;
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          pathOf(method),
          bufferOf,
          (bytes) => fromBinary(method.output, bytes),
          toBinary(method.input, create(method.input, request)),
          metadata,
          { deadline },
          (error, response) => {
            if (error !== null) reject(errorOf(error));
            else if (response !== undefined) resolve(response);
          },
        );
      });
    },
    async *stream(method, request, signal) {
      const { client, metadata } = await connection();
      signal?.throwIfAborted();
      const call = client.makeServerStreamRequest(
        pathOf(method),
        bufferOf,
        (bytes) => fromBinary(method.output, bytes),
        toBinary(method.input, create(method.input, request)),
        metadata,
      );
      const cancel = (): void => call.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
      try {
        for await (const message of call) yield message as MessageShape<typeof method.output>;
        signal?.throwIfAborted();
      } catch (error) {
        signal?.throwIfAborted();
        throw isServiceError(error) ? errorOf(error) : error;
      } finally {
        signal?.removeEventListener('abort', cancel);
        call.cancel();
      }
    },
    close() {
      closed = true;
      channel?.close();
    },
  };
}

function errorOf(error: ServiceError): SpindleError {
  return new SpindleError(error.details, endOf(error));
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error && 'metadata' in error;
}
