interface Cell<Value> {
  value: Value | undefined;
}

/**
 * A map whose entries live for milliseconds. When a Map has grown or shrunk, V8 leaves its old table behind, which
 * refers to the new one. As soon as one such table has lived long enough to be moved among the old objects, it
 * keeps all that came after it, and what they held, until the next full collection; most garbage of a busy engine
 * then survives every scavenge. Here tables refer to cells, which are emptied when their entry goes.
 */
export class TransientMap<Key, Value extends object> {
  readonly #cells = new Map<Key, Cell<Value>>();

  get size(): number {
    return this.#cells.size;
  }

  has(key: Key): boolean {
    return this.#cells.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { value });
    else cell.value = value;
  }

  delete(key: Key): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) return;
    cell.value = undefined;
    this.#cells.delete(key);
  }

  clear(): void {
    for (const cell of this.#cells.values()) cell.value = undefined;
    this.#cells.clear();
  }

  /** In the order in which they came. */
  *values(): Generator<Value, void, undefined> {
    for (const { value } of this.#cells.values()) if (value !== undefined) yield value;
  }
}
