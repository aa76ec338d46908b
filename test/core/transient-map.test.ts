import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TransientMap } from '../../src/core/transient-map.ts';

describe('TransientMap', () => {
  it('holds what a Map would, in the same order', () => {
    const key = fc.integer({ min: 0, max: 5 });
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constant('set' as const), key }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('clear' as const), key }) },
    );
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const map = new TransientMap<number, { readonly made: number }>();
        const twin = new Map<number, { readonly made: number }>();
        for (const [made, { kind, key: at }] of steps.entries()) {
          const value = { made };
          if (kind === 'set') {
            map.set(at, value);
            twin.set(at, value);
          } else if (kind === 'delete') {
            map.delete(at);
            twin.delete(at);
          } else {
            map.clear();
            twin.clear();
          }
          expect(map.size).toBe(twin.size);
          expect([...map.values()]).toEqual([...twin.values()]);
          expect(map.get(at)).toBe(twin.get(at));
          expect(map.has(at)).toBe(twin.has(at));
        }
      }),
    );
  });

  it('bears that an entry goes while it is read through', () => {
    const map = new TransientMap<string, { readonly name: string }>();
    for (const name of ['a', 'b', 'c']) map.set(name, { name });
    const read: string[] = [];
    for (const { name } of map.values()) {
      read.push(name);
      map.delete('b');
    }
    expect(read).toEqual(['a', 'c']);
  });
});
