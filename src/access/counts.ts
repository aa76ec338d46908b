/** How many of something each of some names has. A name that has none is not remembered. */
export interface Counts {
  of(name: string): number;
  add(name: string, change: number): void;
  /** One more of each name; the result takes them back, once. */
  take(names: readonly string[]): () => void;
}

export function createCounts(): Counts {
  const counts = new Map<string, number>();
  const of = (name: string): number => counts.get(name) ?? 0;
  const add = (name: string, change: number): void => {
    const rest = of(name) + change;
    if (rest > 0) counts.set(name, rest);
    else counts.delete(name);
  };
  return {
    of,
    add,
    take(names) {
      for (const name of names) add(name, 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        for (const name of names) add(name, -1);
      };
    },
  };
}
