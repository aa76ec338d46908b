import { createExaminer } from '../../schema/fuzz/examine.ts';
import { fuzzCase } from '../../schema/fuzz/generate.ts';
import type { Target } from '../target.ts';

/** Schemas and the JSON texts that they check, as JSON. */
export async function openSchemas(): Promise<Target> {
  const examine = createExaminer();
  return {
    make: (random) => JSON.stringify(fuzzCase(random)),
    examine: async (text) => examine(JSON.parse(text))?.problem,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
