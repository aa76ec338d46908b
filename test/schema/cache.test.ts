import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createCache } from '../../src/schema/cache.ts';
import { createSchemas } from '../../src/schema/schemas.ts';
import { definedTool } from './tools.ts';

describe('the cache of validators', () => {
  it('2.4: forgets what was used longest ago', () => {
    const cache = createCache<string>(2);
    const made: string[] = [];
    const fetch = (key: string): string =>
      cache.fetch(key, () => {
        made.push(key);
        return key;
      });
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) expect(fetch(key)).toBe(key);
    expect(made).toEqual(['a', 'b', 'c', 'b']);
    expect(cache.size).toBe(2);
  });

  it('2.4: ten thousand distinct schemas leave a bounded number of validators', () => {
    const schemas = createSchemas({ maxCachedValidators: 50 });
    const options = { repair: false, stoppedForLength: false };
    const first = definedTool(schemas, { inputSchemaJson: '{"type":"object","required":["first"]}' });
    const heapAfter = (from: number, to: number): number => {
      for (let index = from; index < to; index += 1) {
        definedTool(schemas, { inputSchemaJson: `{"type":"object","required":["k${index}"]}` });
      }
      return usedHeapBytes();
    };
    const [half, whole] = [heapAfter(0, 5_000), heapAfter(5_000, 10_000)];
    // Five thousand validators would take some fifty megabytes.
    expect(whole - half).toBeLessThan(5_000_000);
    expect(schemas.cachedValidators).toBe(50);
    // What fell out is compiled again when it is needed.
    expect(schemas.checkArguments(first, '{}', options).status.case).toBe('invalid');
    expect(schemas.checkArguments(first, '{"first":1}', options).status.case).toBe('valid');
  });

  it('2.4: equal schemas share a validator', () => {
    const schemas = createSchemas();
    for (const name of ['a', 'b', 'c']) definedTool(schemas, { name, inputSchemaJson: '{"type":"object"}' });
    expect(schemas.cachedValidators).toBe(1);
  });
});

/** What is in use once everything that can be freed has been. */
function usedHeapBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
