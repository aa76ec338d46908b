/** Runs many cases: `node test/schema/fuzz/run.ts --cases 100000 --seed 1`. What it finds belongs in test/corpus/. */
import { parseArgs } from 'node:util';
import { createExaminer, type Finding } from './examine.ts';
import { fuzzCase } from './generate.ts';
import { seeded } from './random.ts';

const { values } = parseArgs({
  options: { cases: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' } },
});
const examine = createExaminer();
const random = seeded(Number(values.seed));
const findings: Finding[] = [];
const started = process.cpuUsage();
for (let index = 0; index < Number(values.cases); index += 1) {
  const finding = examine(fuzzCase(random));
  if (finding !== undefined) findings.push(finding);
  if (findings.length >= 20) break;
}
const { user, system } = process.cpuUsage(started);
for (const finding of findings) process.stdout.write(`${JSON.stringify(finding)}\n`);
process.stdout.write(
  `${values.cases} cases of seed ${values.seed}: ${findings.length} findings, ${Math.round((user + system) / 1e6)} s of CPU\n`,
);
process.exitCode = findings.length > 0 ? 1 : 0;
