import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { median } from './statistics.ts';

/** Medians, in milliseconds. */
export interface Startup {
  /** What importing the worker SDK takes in a process that has nothing else to do. */
  readonly workerImport: number;
  /** From the start of `spindle serve` until it takes calls, with a journal in memory. */
  readonly serveReady: number;
}

const SOURCES = join(import.meta.dirname, '..', 'src');
const WORKER = join(SOURCES, 'sdk', 'worker', 'index.ts');
/** Runs in a process of its own, and prints how long the import took. */
const IMPORT = `const began = performance.now();
await import(${JSON.stringify(WORKER)});
console.log(performance.now() - began);`;
const SERVE = ['serve', '--journal', 'memory:', '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0'];

export async function measureStartup(rounds: number): Promise<Startup> {
  const imports: number[] = [];
  const starts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    imports.push(importTime());
    starts.push(await readyTime());
  }
  return { workerImport: median(imports), serveReady: median(starts) };
}

function importTime(): number {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', IMPORT]);
  if (status !== 0) throw new Error(`the worker SDK cannot be imported: ${stderr.toString()}`);
  return Number(stdout.toString());
}

async function readyTime(): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, [join(SOURCES, 'cli', 'spindle.ts'), ...SERVE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  try {
    for await (const output of child.stdout) {
      if (String(output).includes('spindle ready')) return performance.now() - began;
    }
    throw new Error('spindle serve ended before it was ready');
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}
