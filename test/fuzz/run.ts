/**
 * Fuzzes for a while: `npm run fuzz -- --seconds 600 --seed 1 --target http`. Without a target, all of them one after the
 * other. What it finds is printed as a line of JSON, for the corpus.
 */
import { parseArgs } from 'node:util';
import { seeded } from '../schema/fuzz/random.ts';
import { fuzz } from './target.ts';
import { TARGETS } from './targets.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string' },
  },
});
const chosen = Object.entries(TARGETS).filter(
  ([name]) => values.target === undefined || name === values.target,
);
if (chosen.length === 0) {
  process.stderr.write(`There is no target ${values.target}: ${Object.keys(TARGETS).join(', ')}.\n`);
  process.exitCode = 2;
}
for (const [name, open] of chosen) {
  await using target = await open();
  const until = performance.now() + (Number(values.seconds) * 1_000) / chosen.length;
  const { tried, findings } = await fuzz(
    target,
    seeded(Number(values.seed)),
    () => performance.now() < until,
  );
  for (const finding of findings) process.stdout.write(`${JSON.stringify({ target: name, ...finding })}\n`);
  process.stdout.write(`${name}: ${tried} cases of seed ${values.seed}, ${findings.length} findings\n`);
  if (findings.length > 0) process.exitCode = 1;
}
