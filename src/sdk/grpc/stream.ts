import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { fromBinary } from '@bufbuild/protobuf';
import type { Client, ClientDuplexStream } from '@grpc/grpc-js';
import type { StreamEnd } from '../ports.ts';
import { statusCode } from '../spindle-error.ts';
import { messageOf } from '../tool-error.ts';
import type { ConnectOptions } from './connect-options.ts';
import { bufferOf, type Method, pathOf } from './method.ts';
import { endOf } from './status.ts';

/** What comes from a bidirectional stream. */
export interface DuplexListener<Message> {
  received(message: Message): void;
  writable(): void;
  /** The connection is there; whether the engine takes the stream shows by what follows. */
  connected?(): void;
  /** Comes once, and nothing after it. */
  ended(end: StreamEnd): void;
}

/** A bidirectional stream whose requests are encoded by whoever writes them. */
export interface Duplex {
  /** False: nothing more until `writable`. */
  send(message: Uint8Array): boolean;
  halfClose(): void;
  /** Drops the stream and its connection at once. Nothing comes to the listener after it. */
  cancel(): void;
}

/**
 * Opens a stream on a connection of its own, so that no connect waits for the backoff of another and a
 * renewed stream may reach another engine. Never throws, and never calls back before it returns.
 */
export function openDuplex<Input extends DescMessage, Output extends DescMessage>(
  method: Method<Input, Output>,
  options: ConnectOptions,
  listener: DuplexListener<MessageShape<Output>>,
): Duplex {
  let channel: Client | undefined;
  let call: ClientDuplexStream<Uint8Array, MessageShape<Output>> | undefined;
  /** What is written before the credential is there. */
  const waiting: Uint8Array[] = [];
  let halfClosed = false;
  let over = false;

  function end(how: StreamEnd): void {
    if (over) return;
    over = true;
    channel?.close();
    listener.ended(how);
  }

  async function open(): Promise<void> {
    // Here and not above: to define tools costs nobody the start of a transport.
    const { openChannel, requestMetadata } = await import('./channel.ts');
    const metadata = await requestMetadata(options.token);
    if (over) return;
    channel = openChannel(options);
    call = channel.makeBidiStreamRequest(
      pathOf(method),
      bufferOf,
      (bytes) => fromBinary(method.output, bytes),
      metadata,
    );
    channel.waitForReady(Number.POSITIVE_INFINITY, (error) => {
      if (!over && error === undefined) listener.connected?.();
    });
    // A reader at once: what nobody reads is buffered without bound.
    call.on('data', (message: MessageShape<Output>) => {
      if (!over) listener.received(message);
    });
    call.on('drain', () => {
      if (!over) listener.writable();
    });
    // The status says the same, and comes in every case.
    call.on('error', () => undefined);
    call.on('status', (how) => end(endOf(how)));
    for (const message of waiting.splice(0)) call.write(message);
    if (halfClosed) call.end();
    else listener.writable();
  }

  open().catch((error: unknown) => end({ code: statusCode('UNAVAILABLE'), details: messageOf(error) }));

  return {
    send(message) {
      if (over) return false;
      if (call !== undefined) return call.write(message);
      waiting.push(message);
      return false;
    },
    halfClose() {
      halfClosed = true;
      call?.end();
    },
    cancel() {
      if (over) return;
      over = true;
      call?.cancel();
      channel?.close();
    },
  };
}
