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
import { SpindleError, statusCode } from '../spindle-error.ts';
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
  /** Throws a SpindleError while it is read. Ending the iteration ends the request. */
  stream<Input extends DescMessage, Output extends DescMessage>(
    method: Method<Input, Output>,
    request: MessageInitShape<Input>,
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
      throw new SpindleError('the client is closed', {
        code: statusCode('CANCELLED'),
        reason: 'client_closed',
      });
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
    async *stream(method, request) {
      const { client, metadata } = await connection();
      const call = client.makeServerStreamRequest(
        pathOf(method),
        bufferOf,
        (bytes) => fromBinary(method.output, bytes),
        toBinary(method.input, create(method.input, request)),
        metadata,
      );
      try {
        for await (const message of call) yield message as MessageShape<typeof method.output>;
      } catch (error) {
        throw isServiceError(error) ? errorOf(error) : error;
      } finally {
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
