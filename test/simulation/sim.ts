/**
 * npm run sim -- --seeds 1000 --from 1       lives through worlds, and names the seeds of those that break a rule
 * npm run sim -- --seed 17 --transcript      lives through one again, and prints what happens in it
 * npm run sim -- --sessions 5 --calls 10     worlds with conversations, which are most of what happens in them
 */
import { parseArgs } from 'node:util';
import { judge } from './checker.ts';
import { type Broken, runSeeds } from './run.ts';
import { transcript } from './transcript.ts';
import { live } from './world/world.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '100' },
    'until-broken': { type: 'boolean', default: false },
    transcript: { type: 'boolean', default: false },
    calls: { type: 'string', default: '100' },
    workers: { type: 'string', default: '3' },
    faults: { type: 'string', default: '10' },
    sessions: { type: 'string', default: '0' },
  },
});

/** Of a world that broke rules, in a run over many. */
const SHOWN_VIOLATIONS = 3;
const PROGRESS_EVERY = 1_000;

const world = {
  calls: integer('calls', values.calls),
  workers: integer('workers', values.workers),
  faults: integer('faults', values.faults),
  sessions: integer('sessions', values.sessions),
};

if (values.seed === undefined) await many(integer('from', values.from), integer('seeds', values.seeds));
else await one(integer('seed', values.seed));

async function one(seed: number): Promise<void> {
  const story = await live({ ...world, seed });
  if (values.transcript) console.log(transcript(story.facts));
  const { violations } = judge(story);
  if (violations.length > 0) tell({ seed, violations }, violations.length);
  else console.log(`seed ${seed}: ${story.facts.length} facts, no rule broken`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}

async function many(from: number, seeds: number): Promise<void> {
  const begun = performance.now();
  const seconds = (): string => ((performance.now() - begun) / 1_000).toFixed(1);
  const { broken, covered } = await runSeeds({
    ...world,
    from,
    seeds,
    after(result, seed) {
      if (result !== undefined) tell(result, SHOWN_VIOLATIONS);
      if ((seed - from + 1) % PROGRESS_EVERY === 0) console.log(`through seed ${seed} after ${seconds()} s`);
      return result !== undefined && values['until-broken'];
    },
  });
  for (const [what, count] of [...covered].sort()) console.log(`${String(count).padStart(8)}  ${what}`);
  console.log(`${seeds} worlds from seed ${from} in ${seconds()} s: ${broken.length} broke a rule`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}

function tell({ seed, violations }: Broken, most: number): void {
  for (const { rule, what, time } of violations.slice(0, most)) {
    const when = Number.isFinite(time) ? `${time.toFixed(3)} ms` : 'the end';
    console.log(`seed ${seed}: rule ${rule} is broken at ${when}: ${what}`);
  }
  if (violations.length > most) console.log(`seed ${seed}: and ${violations.length - most} more`);
  const options = Object.entries(world).map(([name, count]) => `--${name} ${count}`);
  console.log(`  npm run sim -- --seed ${seed} ${options.join(' ')} --transcript`);
}

function integer(option: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`--${option} is ${text}; it has to be a whole number`);
}
