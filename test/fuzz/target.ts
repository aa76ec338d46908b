import type { RandomSource } from '../schema/fuzz/random.ts';

/** What a fuzzer throws itself at. Cases are texts, so that one that found something goes into the corpus as it is. */
export interface Target extends AsyncDisposable {
  make(random: RandomSource): string;
  /** What is wrong with how a case was taken; undefined where nothing is. Throwing is wrong as well. */
  examine(fuzzCase: string): Promise<string | undefined>;
}

export interface Finding {
  readonly problem: string;
  readonly fuzzCase: string;
}

/** Tries cases until a number of them, or until a time of the process's own clock. */
export async function fuzz(
  target: Target,
  random: RandomSource,
  goOn: (tried: number) => boolean,
): Promise<{ readonly tried: number; readonly findings: readonly Finding[] }> {
  const findings: Finding[] = [];
  let tried = 0;
  while (goOn(tried) && findings.length < MAX_FINDINGS) {
    const fuzzCase = target.make(random);
    const problem = await problemOf(target, fuzzCase);
    if (problem !== undefined) findings.push({ problem, fuzzCase });
    tried += 1;
  }
  return { tried, findings };
}

/** More of them are the same one. */
const MAX_FINDINGS = 10;

export async function problemOf(target: Target, fuzzCase: string): Promise<string | undefined> {
  try {
    return await target.examine(fuzzCase);
  } catch (error) {
    return `threw ${error instanceof Error ? error.stack : String(error)}`;
  }
}
