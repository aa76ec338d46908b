import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createExaminer } from './fuzz/examine.ts';
import { fuzzCase } from './fuzz/generate.ts';
import { seeded } from './fuzz/random.ts';
import { check } from './tools.ts';

const folder = join(import.meta.dirname, '../corpus');
const Entry = z.strictObject({ why: z.string(), schema: z.string(), text: z.string(), verdict: z.string() });
const corpus = readdirSync(folder).flatMap((file) =>
  z.array(Entry).parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))),
);

describe('what fuzzing found', () => {
  const examine = createExaminer();

  it.each(corpus.map((entry) => [entry.why, entry] as const))(
    '1.5: %s',
    (_why, { schema, text, verdict }) => {
      expect(examine({ schema, text })).toBeUndefined();
      expect(check(JSON.parse(schema), text, { repair: true }).status).toBe(verdict);
    },
  );
});

describe('fuzzing', () => {
  it('1.5: no mix of schema and text throws, takes long, or changes what was valid', () => {
    const examine = createExaminer();
    const random = seeded(2);
    const findings = Array.from({ length: 5_000 }, () => examine(fuzzCase(random)));
    expect(findings.filter((finding) => finding !== undefined)).toEqual([]);
  });
});
