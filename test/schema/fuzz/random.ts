/** A small seeded generator (mulberry32): the same seed gives the same cases on every machine. */
export interface RandomSource {
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number;
  pick<Item>(items: readonly [Item, ...Item[]]): Item;
}

export function seeded(seed: number): RandomSource {
  let state = seed >>> 0;
  const below = (bound: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
  return { below, pick: (items) => items[below(items.length)] ?? items[0] };
}
