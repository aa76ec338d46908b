import { z } from 'zod';

const FLAG = 'true or false';

export const flag = z.union(
  [z.boolean(), z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'] })],
  FLAG,
);

/** A list in a file; a text with commas in the environment and in flags. */
export const listOf = (expected: string) =>
  z.union(
    [
      z.array(z.string().min(1)),
      z.string().transform((text) => text.split(',').flatMap((name) => name.trim() || [])),
    ],
    expected,
  );
