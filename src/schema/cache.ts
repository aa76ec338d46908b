/** A map that forgets what was used longest ago, so that foreign input cannot make it grow for ever (2.4). */
export interface Cache<Value> {
  readonly size: number;
  /** What is kept under the key, or what `make` makes and the cache then keeps. */
  fetch(key: string, make: () => Value): Value;
}

export function createCache<Value>(capacity: number): Cache<Value> {
  // A Map iterates in order of insertion, so what was used last is put at its end again.
  const entries = new Map<string, Value>();
  let newest: string | undefined;
  return {
    get size() {
      return entries.size;
    },
    fetch(key, make) {
      const known = entries.get(key);
      if (known !== undefined) {
        if (key !== newest) {
          entries.delete(key);
          entries.set(key, known);
          newest = key;
        }
        return known;
      }
      const value = make();
      entries.set(key, value);
      newest = key;
      const oldest = entries.keys().next();
      if (entries.size > capacity && oldest.done === false) entries.delete(oldest.value);
      return value;
    },
  };
}
