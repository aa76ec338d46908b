/**
 * npm run sim:mutants [-- WORD]    breaks the code in one place after another, in a copy, and has each noticed
 *
 * A mutant that lives through its seeds fails the run: the checker would not see that bug if somebody made it.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { CALLS } from './mutations/calls.ts';
import { DURABILITY } from './mutations/durability.ts';
import type { Edit, Mutation } from './mutations/mutation.ts';
import { STREAMS } from './mutations/streams.ts';
import { TURNS } from './mutations/turns.ts';

/** A mutant has to be caught within so many worlds. */
const SEEDS = 200;
const WORLD_OF_CALLS: readonly string[] = [];
const WORLD_OF_TURNS: readonly string[] = ['--sessions', '5', '--calls', '10'];
/** One that loops for ever is caught as well. */
const PATIENCE_MS = 90_000;

const root = resolve(import.meta.dirname, '../..');
const wanted = process.argv[2] ?? '';
const calls = [...DURABILITY, ...STREAMS, ...CALLS].map((mutation) => ({
  ...mutation,
  world: WORLD_OF_CALLS,
}));
const turns = TURNS.map((mutation) => ({ ...mutation, world: WORLD_OF_TURNS }));
const mutations = [...calls, ...turns].filter(({ name }) => name.includes(wanted));
if (mutations.length === 0) throw new Error(`no mutant has "${wanted}" in its name`);

// Before anything runs: code that has moved on needs other words here.
const misfits = mutations.flatMap(({ edits }) => edits.filter((edit) => timesIn(edit) !== 1));
for (const edit of misfits)
  console.error(`${edit.file} holds this ${timesIn(edit)} times, and not once: ${edit.find}`);
if (misfits.length > 0) process.exit(1);

let survivors = 0;
for (const mutation of mutations) {
  const fate = live(mutation);
  if (fate === undefined) survivors += 1;
  console.log(
    `| ${mutation.name} | ${mutation.rule} | ${fate ?? `ALIVE after ${SEEDS * (mutation.rarity ?? 1)}`} |`,
  );
}
console.log(`${mutations.length} mutants, ${survivors} alive`);
process.exitCode = survivors === 0 ? 0 : 1;

/** How a mutant was caught; undefined where it was not. */
function live({
  edits,
  world,
  rarity = 1,
}: Mutation & { readonly world: readonly string[] }): string | undefined {
  const copy = mkdtempSync(join(tmpdir(), 'spindle-mutant-'));
  try {
    for (const part of ['src', 'gen', 'test/simulation', 'package.json', 'tsconfig.json'])
      cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const { file, find, replace } of edits) {
      const text = readFileSync(join(copy, file), 'utf8');
      writeFileSync(
        join(copy, file),
        text.replace(find, () => replace),
      );
    }
    const { status, stdout } = spawnSync(
      process.execPath,
      [join(copy, 'test/simulation/sim.ts'), '--seeds', String(SEEDS * rarity), '--until-broken', ...world],
      { timeout: PATIENCE_MS * rarity, encoding: 'utf8' },
    );
    if (status === 0) return undefined;
    const [, seed, rule] = /^seed (\d+): rule (\S+)/m.exec(stdout) ?? [];
    return seed === undefined ? 'it does not run to the end' : `seed ${seed}, as ${rule}`;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function timesIn({ file, find }: Edit): number {
  return readFileSync(join(root, file), 'utf8').split(find).length - 1;
}
