import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { seeded } from '../schema/fuzz/random.ts';
import { fuzz, problemOf } from './target.ts';
import { TARGETS } from './targets.ts';

const CORPUS = join(import.meta.dirname, 'corpus');
const EntrySchema = z.array(
  z.strictObject({ why: z.string(), target: z.enum(Object.keys(TARGETS) as ['http']), fuzzCase: z.string() }),
);
const corpus = readdirSync(CORPUS).flatMap((file) =>
  EntrySchema.parse(JSON.parse(readFileSync(join(CORPUS, file), 'utf8'))),
);

describe('what fuzzers look for', () => {
  it.each(corpus.map((entry) => [entry.target, entry.why, entry] as const))(
    '9.1: %s: %s',
    async (_target, _why, { target: name, fuzzCase }) => {
      await using target = await TARGETS[name]();
      expect(await problemOf(target, fuzzCase)).toBeUndefined();
    },
  );
});

describe('fuzzing, for a moment', () => {
  it.each(Object.entries(TARGETS).filter(([name]) => name !== 'schemas'))(
    '9.1: nothing that comes near %s ends the engine, or is its own fault',
    async (_name, open) => {
      await using target = await open();
      const { tried, findings } = await fuzz(target, seeded(7), (cases) => cases < 300);
      expect(findings).toEqual([]);
      expect(tried).toBe(300);
    },
  );

  it('would say so', async () => {
    const target = {
      make: () => 'x',
      examine: async () => {
        throw new Error('broken');
      },
      [Symbol.asyncDispose]: async () => undefined,
    };
    const { findings } = await fuzz(target, seeded(1), (cases) => cases < 3);
    expect(findings).toHaveLength(3);
  });
});
