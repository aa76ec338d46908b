/** Runs a task once it is its turn: in order, and no more than a number of them at once. */
export type Turns = <T>(task: () => Promise<T>) => Promise<T>;

/** @param most tasks at once, at least 1 */
export function createTurns(most: number): Turns {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    // A task that ends hands its place on, so that none that comes meanwhile takes it.
    if (running < most) running += 1;
    else await new Promise<void>((begin) => waiting.push(begin));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
