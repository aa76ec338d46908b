import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process that the demo started, and will have ended. */
export interface Started {
  readonly pid: number;
  /** What it prints on standard output, line by line. */
  readonly lines: Interface;
  /** Its first line; an Error with what it printed on standard error where it ends before that. */
  firstLine(): Promise<string>;
  write(text: string): void;
  /** Resolves with its exit code, null where a signal ended it. */
  readonly exited: Promise<number | null>;
  /** Ends it as a crash does, and resolves once it is gone. */
  kill(): Promise<void>;
  /** Asks it to end, and after a while does not ask any more. */
  stop(): Promise<number | null>;
}

/** Longer than what a drain takes here; a process that still runs then is one of the faults the demo finds. */
const STOP_WITHIN_MS = 5_000;

/** Starts a script with this Node, away from settings that the surroundings have for Spindle. */
export function start(script: string, args: readonly string[], folder: string): Started {
  const environment = Object.entries(process.env).filter(([name]) => !name.startsWith('SPINDLE_'));
  const child: ChildProcess = spawn(process.execPath, [script, ...args], {
    cwd: folder,
    // Compiled code is kept where `spindle` keeps it: the second run starts faster.
    env: { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'), ...Object.fromEntries(environment) },
    stdio: 'pipe',
  });
  const { stdin, stdout, stderr, pid } = child;
  if (stdin === null || stdout === null || stderr === null || pid === undefined) {
    throw new Error(`${script} cannot be started`);
  }
  let said = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  // It may have ended before it has read everything; its exit code says what that means.
  stdin.on('error', () => undefined);
  const exited = once(child, 'exit').then(([code]): number | null => code);
  const lines = createInterface({ input: stdout });

  return {
    pid,
    lines,
    exited,
    async firstLine() {
      const ended = exited.then((code) => {
        throw new Error(`${script} ended with ${code} before it was ready:\n${said}`);
      });
      const [line] = await Promise.race([once(lines, 'line'), ended]);
      return String(line);
    },
    write: (text) => void stdin.end(text),
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      child.kill('SIGTERM');
      const late = new AbortController();
      const killed = sleep(STOP_WITHIN_MS, undefined, { signal: late.signal }).then(
        () => child.kill('SIGKILL'),
        () => false,
      );
      const code = await exited;
      late.abort();
      await killed;
      return code;
    },
  };
}
