/** Something with a place among what has ended. */
export interface Ended {
  /** Its place in the queue; NOT_QUEUED while it is in none. */
  queuedAt: number;
}

/** Of what is in no queue. */
export const NOT_QUEUED = -1;

/** Below this the queue is not tidied: copying it costs more than what it holds. */
const MIN_TIDIED = 32;

/**
 * Sessions in the order in which they ended. A Set would keep that order as well, but it finds its oldest entry by
 * walking over all that were deleted before it.
 */
export class EndedQueue<T extends Ended> {
  #entries: (T | undefined)[] = [];
  /** Entries before this one are gone. */
  #head = 0;
  /** The place of the first entry. */
  #base = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Puts an entry behind all others. */
  add(entry: T): void {
    entry.queuedAt = this.#base + this.#entries.length;
    this.#entries.push(entry);
    this.#size += 1;
  }

  /** Nothing where it is not there. */
  delete(entry: T): void {
    if (entry.queuedAt === NOT_QUEUED) return;
    this.#entries[entry.queuedAt - this.#base] = undefined;
    entry.queuedAt = NOT_QUEUED;
    this.#size -= 1;
    this.#tidy();
  }

  oldest(): T | undefined {
    return this.#entries[this.#head];
  }

  /** The oldest first. */
  *values(): Generator<T, void, undefined> {
    for (const entry of this.#entries) if (entry !== undefined) yield entry;
  }

  #tidy(): void {
    const { length } = this.#entries;
    while (this.#head < length && this.#entries[this.#head] === undefined) this.#head += 1;
    // Tidied when half of it is gone, each entry is copied about once in its life.
    if (this.#head < MIN_TIDIED || this.#head * 2 < length) return;
    this.#entries = this.#entries.slice(this.#head);
    this.#base += this.#head;
    this.#head = 0;
  }
}
