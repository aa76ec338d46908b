import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

const SPINDLE = resolve(import.meta.dirname, '../../src/cli/spindle.ts');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings {
  readonly folder?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** A `spindle` that runs. Disposing of it kills what is left of it. */
export interface Running extends AsyncDisposable {
  /** Resolves once standard output or standard error holds this. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<Ended>;
}

/** Starts `spindle` with these arguments as a process of its own, away from settings of the surroundings. */
export function start(
  args: readonly string[],
  { folder, environment = {}, stdin }: Surroundings = {},
): Running {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(SPINDLE_|FORCE_COLOR|NO_COLOR)/.test(name),
  );
  const child = spawn(process.execPath, [SPINDLE, ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(inherited), ...environment },
    stdio: 'pipe',
  });
  child.stdin.end(stdin);
  let said = '';
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      said += `${line}\n`;
      for (const look of waiting) look();
    });
  }
  const exited = once(child, 'exit');
  const ended = Promise.all([exited, text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({
      code,
      stdout,
      stderr,
    }),
  );
  return {
    ended,
    says(pattern) {
      return new Promise((found, reject) => {
        const look = (): void => {
          const match = pattern.exec(said);
          if (match === null) return;
          waiting.delete(look);
          found(match);
        };
        waiting.add(look);
        look();
        ended.then(
          () => reject(new Error(`spindle ${args[0]} ended without saying ${pattern}:\n${said}`)),
          reject,
        );
      });
    },
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs `spindle` to its end. */
export function spindle(args: readonly string[], surroundings?: Surroundings): Promise<Ended> {
  return start(args, surroundings).ended;
}

/** An engine as a process, on free ports, with a journal in memory unless the arguments say otherwise. */
export async function serve(
  args: readonly string[] = [],
  surroundings?: Surroundings,
): Promise<Running & { readonly address: string }> {
  const journal = args.includes('--journal') ? [] : ['--journal', 'memory:'];
  const running = start(
    ['serve', '--listen', '127.0.0.1:0', '--http', 'off', ...journal, ...args],
    surroundings,
  );
  const [, address = ''] = await running.says(/^spindle ready grpc=(\S+) /m);
  return { ...running, address };
}

/** A folder for one test, which is gone after it. */
export async function temporaryFolder(): Promise<{ readonly path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'spindle-cli-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
