/** Something with a place in the order of creation. */
export interface Dated {
  /** Grows with each session. */
  readonly position: number;
  /** No longer there; only its place is left, until the shelf is tidied. */
  dropped: boolean;
}

/** Below this a shelf is not tidied: copying it costs more than what it holds. */
const MIN_TIDIED = 32;

/** The sessions of one owner in the order of their creation. Every operation is cheap, however many there are. */
export class SessionShelf<T extends Dated> {
  #entries: T[] = [];
  #droppedCount = 0;

  /** The entry has to be newer than all that are there. */
  add(entry: T): void {
    this.#entries.push(entry);
  }

  drop(entry: T): 'empty' | 'holds more' {
    entry.dropped = true;
    this.#droppedCount += 1;
    const { length } = this.#entries;
    if (this.#droppedCount === length) return 'empty';
    // Tidied when half of it is gone, each entry is copied about once in its life.
    if (length >= MIN_TIDIED && this.#droppedCount * 2 >= length) {
      this.#entries = this.#entries.filter((kept) => !kept.dropped);
      this.#droppedCount = 0;
    }
    return 'holds more';
  }

  /** What was created before a position. */
  *newestFirst(before: number): Iterable<T> {
    const entries = this.#entries;
    for (let index = firstNotBefore(entries, before) - 1; index >= 0; index -= 1) {
      const entry = entries[index];
      if (entry !== undefined && !entry.dropped) yield entry;
    }
  }
}

/** The index of the first entry that is not before a position, by bisection. */
function firstNotBefore(entries: readonly Dated[], position: number): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry !== undefined && entry.position < position) low = middle + 1;
    else high = middle;
  }
  return low;
}
