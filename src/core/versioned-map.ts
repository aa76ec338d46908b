/**
 * A map that never changes: `with` makes another one, and shares with it what has been there for a while. A session
 * lives long, and copying thousands of its calls for each event would make reading its log back quadratic.
 */
export class VersionedMap<Key, Value> implements ReadonlyMap<Key, Value> {
  /** Shared by many versions. */
  readonly #settled: ReadonlyMap<Key, Value>;
  /** Newer than what is settled, and copied for each version. */
  readonly #recent: ReadonlyMap<Key, Value>;
  readonly size: number;

  constructor(
    settled: ReadonlyMap<Key, Value> = new Map(),
    recent: ReadonlyMap<Key, Value> = new Map(),
    size: number = settled.size,
  ) {
    this.#settled = settled;
    this.#recent = recent;
    this.size = size;
  }

  with(key: Key, value: Value): VersionedMap<Key, Value> {
    const size = this.size + (this.has(key) ? 0 : 1);
    if (this.#recent.size < MAX_RECENT || this.#recent.has(key))
      return new VersionedMap(this.#settled, new Map(this.#recent).set(key, value), size);
    return new VersionedMap(new Map(this).set(key, value));
  }

  get(key: Key): Value | undefined {
    return this.#recent.get(key) ?? this.#settled.get(key);
  }

  has(key: Key): boolean {
    return this.#recent.has(key) || this.#settled.has(key);
  }

  /** In the order in which the keys came first, as in any map. */
  *entries(): MapIterator<[Key, Value]> {
    const recent = this.#recent;
    for (const [key, value] of this.#settled) yield [key, recent.get(key) ?? value];
    for (const entry of recent) if (!this.#settled.has(entry[0])) yield entry;
  }

  *keys(): MapIterator<Key> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<Value> {
    const recent = this.#recent;
    for (const [key, value] of this.#settled) yield recent.get(key) ?? value;
    for (const [key, value] of recent) if (!this.#settled.has(key)) yield value;
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  forEach(run: (value: Value, key: Key, map: ReadonlyMap<Key, Value>) => void): void {
    for (const [key, value] of this.entries()) run(value, key, this);
  }
}

/** Copying fewer is cheaper than anything that would save it; most turns have fewer calls. */
const MAX_RECENT = 32;
