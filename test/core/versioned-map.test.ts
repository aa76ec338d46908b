import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VersionedMap } from '../../src/core/versioned-map.ts';

const writes = fc.array(fc.tuple(fc.integer({ min: 0, max: 99 }), fc.integer()), { maxLength: 300 });

describe('a versioned map', () => {
  it('is what a map would be, in order, after any writes', () => {
    fc.assert(
      fc.property(writes, (pairs) => {
        const twin = new Map<number, number>();
        let map = new VersionedMap<number, number>();
        for (const [key, value] of pairs) {
          twin.set(key, value);
          map = map.with(key, value);
        }
        expect([...map]).toEqual([...twin]);
        expect([...map.keys()]).toEqual([...twin.keys()]);
        expect([...map.values()]).toEqual([...twin.values()]);
        expect(map.size).toBe(twin.size);
        for (let key = 0; key < 100; key++) {
          expect(map.get(key)).toBe(twin.get(key));
          expect(map.has(key)).toBe(twin.has(key));
        }
      }),
    );
  });

  it('leaves every earlier version as it was', () => {
    fc.assert(
      fc.property(writes, (pairs) => {
        const versions: VersionedMap<number, number>[] = [new VersionedMap()];
        const twins: Map<number, number>[] = [new Map()];
        for (const [key, value] of pairs) {
          versions.push((versions.at(-1) ?? new VersionedMap()).with(key, value));
          twins.push(new Map(twins.at(-1)).set(key, value));
        }
        expect(versions.map((version) => [...version])).toEqual(twins.map((twin) => [...twin]));
      }),
      { numRuns: 20 },
    );
  });

  it('calls back for each entry, in order', () => {
    const entries: [string, number][] = [];
    const map = new VersionedMap(new Map([['a', 1]])).with('b', 2).with('a', 3);
    map.forEach((value, key) => void entries.push([key, value]));
    expect(entries).toEqual([
      ['a', 3],
      ['b', 2],
    ]);
  });
});
