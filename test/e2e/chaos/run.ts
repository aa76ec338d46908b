/**
 * A storm of any length: `node test/e2e/chaos/run.ts --calls 50000 --kills 300 --seed 7 [--raw]`. Prints what
 * happened, and what broke a rule; ends with 1 where anything did.
 */
import { parseArgs } from 'node:util';
import type { WorkerKind } from './fleet.ts';
import { brewStorm } from './storm.ts';
import { judge } from './verdict.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '50000' },
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Workers without the SDK. */
    raw: { type: 'boolean', default: false },
  },
});
const kind: WorkerKind = values.raw ? 'raw-worker' : 'worker';
const SHOWN_FAULTS = 50;

console.log(`seed ${values.seed}`);
const { evidence, faults, counts } = await brewStorm({
  seed: Number(values.seed),
  calls: Number(values.calls),
  kills: Number(values.kills),
  kinds: [kind, kind, kind],
});
console.table(counts);
const broken = [...faults, ...judge(evidence)];
for (const fault of broken.slice(0, SHOWN_FAULTS)) console.error(fault);
if (broken.length > 0) console.error(`${broken.length} faults; again with --seed ${values.seed}`);
process.exitCode = broken.length === 0 ? 0 : 1;
