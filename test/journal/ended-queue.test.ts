import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Ended, EndedQueue, NOT_QUEUED } from '../../src/journal/ended-queue.ts';

describe('EndedQueue', () => {
  it('holds what a Set would, in the same order', () => {
    const entries = Array.from({ length: 200 }, (): Ended => ({ queuedAt: NOT_QUEUED }));
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), index: fc.nat(199) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), index: fc.nat(199) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), index: fc.constant(0) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const queue = new EndedQueue<Ended>();
        const twin = new Set<Ended>();
        for (const entry of entries) entry.queuedAt = NOT_QUEUED;
        for (const { kind, index } of steps) {
          const [first] = twin;
          expect(queue.oldest()).toBe(first);
          const entry = kind === 'take' ? first : entries[index];
          if (entry === undefined) continue;
          if (kind === 'add' && twin.has(entry)) continue;
          if (kind === 'add') {
            queue.add(entry);
            twin.add(entry);
          } else {
            queue.delete(entry);
            twin.delete(entry);
          }
          expect(queue.size).toBe(twin.size);
          expect([...queue.values()]).toEqual([...twin]);
        }
      }),
    );
  });

  it('keeps its order when thousands come and go', () => {
    const queue = new EndedQueue<Ended & { readonly name: number }>();
    const taken: number[] = [];
    for (let name = 0; name < 5_000; name += 1) {
      queue.add({ name, queuedAt: NOT_QUEUED });
      const oldest = queue.size > 100 ? queue.oldest() : undefined;
      if (oldest !== undefined) {
        queue.delete(oldest);
        taken.push(oldest.name);
      }
    }
    expect(taken).toEqual(Array.from({ length: 4_900 }, (_, name) => name));
    expect([...queue.values()].map(({ name }) => name)).toEqual(
      Array.from({ length: 100 }, (_, index) => 4_900 + index),
    );
  });
});
