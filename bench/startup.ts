import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { startProcess } from './process.ts';
import { median } from './statistics.ts';

/** Medians, in milliseconds. */
export interface Startup {
  /** What importing the worker SDK takes in a process that has nothing else to do. */
  readonly workerImport: number;
  /** From the start of the process until an engine with a journal in memory takes calls. */
  readonly engineReady: number;
}

const WORKER = join(import.meta.dirname, '..', 'src', 'sdk', 'worker', 'index.ts');
/** Runs in a process of its own, and prints how long the import took. */
const IMPORT = `const began = performance.now();
await import(${JSON.stringify(WORKER)});
console.log(performance.now() - began);`;

export async function measureStartup(rounds: number): Promise<Startup> {
  const imports: number[] = [];
  const starts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    imports.push(importTime());
    const began = performance.now();
    const engine = await startProcess('engine', 'memory:');
    starts.push(performance.now() - began);
    await engine.stop();
  }
  return { workerImport: median(imports), engineReady: median(starts) };
}

function importTime(): number {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', IMPORT]);
  if (status !== 0) throw new Error(`the worker SDK cannot be imported: ${stderr.toString()}`);
  return Number(stdout.toString());
}
