import { describe, expect, it } from 'vitest';
import { brewStorm, type StormOptions } from './chaos/storm.ts';
import { judge } from './chaos/verdict.ts';

/** Where nobody else wants the processor, a storm takes a tenth of this. */
const PATIENCE_MS = 300_000;

/** Another one for each run; a run is repeated with SPINDLE_SEED. */
const SEED = Number(process.env['SPINDLE_SEED'] ?? Date.now() % 1_000_000);

async function survive(options: StormOptions): Promise<void> {
  console.log(`chaos: seed ${options.seed}`);
  const { evidence, faults, counts } = await brewStorm(options);
  console.table(counts);
  expect([...faults, ...judge(evidence)], `repeat with SPINDLE_SEED=${options.seed}`).toEqual([]);
}

describe('a storm of kills, freezes and drains', () => {
  it(
    '4.5, 7.1: with workers of the SDK every call has one end, and nothing runs twice that must not',
    { timeout: PATIENCE_MS },
    () => survive({ seed: SEED, calls: 2_000, kills: 20, kinds: ['worker', 'worker', 'worker'] }),
  );

  it('4.5, 7.1: the same with workers that do without the SDK', { timeout: PATIENCE_MS }, () =>
    survive({ seed: SEED + 1, calls: 400, kills: 6, kinds: ['raw-worker', 'raw-worker'] }),
  );
});
