import { judge } from './checker.ts';
import type { Violation } from './checks/evidence.ts';
import { live, type WorldOptions } from './world/world.ts';

export interface Broken {
  readonly seed: number;
  readonly violations: readonly Violation[];
}

export interface Summary {
  readonly seeds: number;
  readonly broken: readonly Broken[];
  /** In how many worlds each thing occurred. */
  readonly covered: ReadonlyMap<string, number>;
}

export interface RunOptions extends Omit<WorldOptions, 'seed'> {
  readonly from: number;
  readonly seeds: number;
  /** Called after each world. True: no more are needed. */
  readonly after?: (broken: Broken | undefined, seed: number) => boolean;
}

/** Lives through one world after another, and judges each. */
export async function runSeeds({ from, seeds, after, ...world }: RunOptions): Promise<Summary> {
  const broken: Broken[] = [];
  const covered = new Map<string, number>();
  let lived = 0;
  for (let seed = from; seed < from + seeds; seed++) {
    const verdict = judge(await live({ ...world, seed }));
    lived += 1;
    for (const what of verdict.covered) covered.set(what, (covered.get(what) ?? 0) + 1);
    const { violations } = verdict;
    const result = violations.length === 0 ? undefined : { seed, violations };
    if (result !== undefined) broken.push(result);
    if (after?.(result, seed) === true) break;
  }
  return { seeds: lived, broken, covered };
}
