/** What one side of a stream has received: each item can be waited for, and is taken once. */
export interface Inbox<T> {
  /** Everything so far, also what was taken. */
  readonly all: readonly T[];
  push(item: T): void;
  /** Nothing follows: those who wait, and will wait, are told why. */
  end(reason: string): void;
  /** The first item that nobody has taken and for which `match` has a value; waits for it. */
  take<V>(what: string, match: (item: T) => V | undefined): Promise<V>;
}

export function createInbox<T>(): Inbox<T> {
  const all: T[] = [];
  let untaken: T[] = [];
  let waiting: { readonly offer: (item: T) => boolean; readonly fail: (reason: string) => void }[] = [];
  let ended: string | undefined;

  return {
    all,
    push(item) {
      all.push(item);
      const taker = waiting.find(({ offer }) => offer(item));
      if (taker === undefined) untaken.push(item);
      else waiting = waiting.filter((other) => other !== taker);
    },
    end(reason) {
      ended ??= reason;
      const left = waiting;
      waiting = [];
      for (const { fail } of left) fail(ended);
    },
    take(what, match) {
      for (const item of untaken) {
        const value = match(item);
        if (value === undefined) continue;
        untaken = untaken.filter((other) => other !== item);
        return Promise.resolve(value);
      }
      const failure = (reason: string): Error => new Error(`no ${what} came: ${reason}`);
      if (ended !== undefined) return Promise.reject(failure(ended));
      return new Promise((resolve, reject) => {
        waiting.push({
          offer(item) {
            const value = match(item);
            if (value === undefined) return false;
            resolve(value);
            return true;
          },
          fail: (reason) => reject(failure(reason)),
        });
      });
    },
  };
}
