import { judge } from './checker.ts';
import { live } from './world/world.ts';

const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 1);
const t0 = performance.now();
const rules: Record<string, number> = {};
const covered: Record<string, number> = {};
for (let seed = from; seed < from + n; seed++) {
  const story = await live({ seed });
  const v = judge(story);
  for (const c of v.covered) covered[c] = (covered[c] ?? 0) + 1;
  for (const x of v.violations) {
    rules[x.rule] = (rules[x.rule] ?? 0) + 1;
  }
  for (const x of v.violations.slice(0, 3))
    console.log(seed, Math.round(x.time), x.rule, x.what.slice(0, 600));
}
console.log((performance.now() - t0) / n, 'ms', rules, covered);
