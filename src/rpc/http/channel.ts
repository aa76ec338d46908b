import type { Outbound } from '../handlers.ts';

/** A stream between a handler that writes and connect, which reads. */
export interface Channel<T> {
  readonly out: Outbound<T>;
  /** Ends the messages; an error ends them by a throw. Later calls have no effect. */
  close(error?: unknown): void;
  messages(): AsyncGenerator<T, void, undefined>;
}

/** Hands messages over one by one: a write resolves when the reader comes for the next one. */
export function createChannel<T>(): Channel<T> {
  const queue: { readonly message: T; readonly taken: () => void }[] = [];
  let end: { readonly error: unknown } | undefined;
  let wake = (): void => undefined;

  const close = (error?: unknown): void => {
    end ??= { error };
    wake();
  };
  return {
    out: {
      async write(message) {
        if (end !== undefined) return;
        await new Promise<void>((taken) => {
          queue.push({ message, taken });
          wake();
        });
      },
    },
    close,
    async *messages() {
      try {
        for (;;) {
          const next = queue[0];
          if (next !== undefined) {
            yield next.message;
            queue.shift();
            next.taken();
          } else if (end !== undefined) {
            if (end.error !== undefined) throw end.error;
            return;
          } else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        // The reader may leave in the middle: nobody who writes may wait for it.
        close();
        for (const { taken } of queue.splice(0)) taken();
      }
    },
  };
}
