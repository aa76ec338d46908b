import type { DescMethod, Message } from '@bufbuild/protobuf';
import { MAX_UNSENT_BYTES } from '../../core/limits.ts';
import { encode } from './codec.ts';

/** The part of a grpc-js call that is written to. */
interface Writable {
  write(chunk: Buffer, written: () => void): boolean;
}

/** Counts what waits for a reader. Node's own count is in messages, of which each may have megabytes. */
export interface Outlet {
  /** Whether MAX_UNSENT_BYTES wait. */
  readonly blocked: boolean;
  /** Takes a message, also while blocked. */
  write(message: Message): void;
}

export function createOutlet(call: Writable, method: DescMethod, drained: () => void): Outlet {
  let unsent = 0;
  let blocked = false;
  return {
    get blocked() {
      return blocked;
    },
    write(message) {
      const encoded = encode(method, message);
      const bytes = encoded.byteLength;
      unsent += bytes;
      blocked = blocked || unsent >= MAX_UNSENT_BYTES;
      call.write(encoded, () => {
        unsent -= bytes;
        // Half: a writer that is woken for each message would write one message each time.
        if (!blocked || unsent > MAX_UNSENT_BYTES / 2) return;
        blocked = false;
        drained();
      });
    },
  };
}
