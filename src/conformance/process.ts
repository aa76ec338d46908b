import { type ChildProcess, spawn } from 'node:child_process';
import { within } from './deadline.ts';
import { EXIT_TIMEOUT_MS, MAX_OUTPUT_BYTES } from './limits.ts';

/** How a process ended: its exit code, or the signal that ended it. */
export type Exit = number | string;

/** The command of the worker under test cannot be run at all. */
export class UnstartableError extends Error {
  override readonly name = 'UnstartableError';
}

/** The worker under test, as a process. */
export interface WorkerProcess {
  /** Rejects with an UnstartableError where the system cannot run the command. */
  readonly started: Promise<void>;
  readonly exited: Promise<Exit>;
  signal(signal: NodeJS.Signals): void;
  /** Waits until it has ended by itself. */
  exit(expected: string): Promise<Exit>;
  /** Ends it, and what it started. */
  kill(): Promise<void>;
  /** The end of what it printed. */
  output(): string;
}

export function startWorker(command: readonly string[], address: string): WorkerProcess {
  const [file = '', ...args] = command;
  const exit = Promise.withResolvers<Exit>();
  let output = '';
  // A group of its own, so that a build tool that runs the worker ends together with it.
  const child = spawn(file, args, {
    env: { ...process.env, SPINDLE_ADDRESS: address },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-MAX_OUTPUT_BYTES);
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const started = Promise.withResolvers<void>();
  child.once('spawn', started.resolve);
  child.once('error', (error) => {
    started.reject(new UnstartableError(`${file} cannot be started: ${error.message}`, { cause: error }));
    exit.resolve(error.message);
  });
  child.once('exit', (code, signal) => exit.resolve(signal ?? code ?? 0));
  return {
    started: started.promise,
    exited: exit.promise,
    signal: (signal) => signalGroup(child, signal),
    exit: (expected) => within(EXIT_TIMEOUT_MS, expected, exit.promise, () => 'it still runs'),
    async kill() {
      signalGroup(child, 'SIGKILL');
      await exit.promise;
    },
    output: () => output,
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // It ended in between, which is what was wanted.
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ESRCH') throw error;
  }
}
