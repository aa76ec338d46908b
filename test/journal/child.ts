import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface Child {
  readonly process: ChildProcess;
  /** The lines that it has written whole. */
  readonly lines: AsyncIterable<string>;
  /** What it has written to standard error, once it has ended. */
  readonly errors: Promise<string>;
  /** Resolves with its exit code, or null where a signal ended it. */
  readonly exited: Promise<number | null>;
}

/** Runs a TypeScript file of this folder. It does not outlive the test. */
export function startChild(file: string, args: readonly string[], limits = ''): Child {
  const path = new URL(file, import.meta.url).pathname;
  // The shell sets the limits, and becomes the process.
  const child = spawn('sh', ['-c', `${limits} exec "$0" "$@"`, process.execPath, path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const exited = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null);
  return {
    process: child,
    lines: createInterface({ input: child.stdout }),
    errors: text(child.stderr),
    exited,
  };
}
