/** Engines in processes of their own, run as operators run them: `spindle serve`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { openClient, type RawClient } from './raw-client.ts';
import { connectWorker, helloOf, type RawWorker } from './raw-worker.ts';

const SPINDLE = new URL('../../src/cli/spindle.ts', import.meta.url).pathname;

export interface ServeOptions {
  /** The database's file. */
  readonly path: string;
  /** A command of the shell that comes first, in the same process. */
  readonly before?: string;
  /** A module that is loaded before Spindle, in every thread. */
  readonly preload?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The namespace of mounts to run in; `before` may mount there what goes away with the process. */
  readonly ownMounts?: boolean;
}

export interface ServeProcess {
  readonly pid: number;
  /** Resolves with its address; rejects with its log where it ends first. */
  readonly ready: Promise<string>;
  /** Its exit code and what it wrote to standard error. */
  readonly ended: Promise<{ readonly code: number | null; readonly log: string }>;
  signal(signal: NodeJS.Signals): void;
}

/** Runs an engine that does not outlive the test. */
export function serve({
  path,
  before = ':',
  preload,
  environment = {},
  ownMounts = false,
}: ServeOptions): ServeProcess {
  const imports = preload === undefined ? [] : ['--import', preload];
  const args = ['serve', '--journal', `sqlite:${path}`, '--listen', '127.0.0.1:0', '--http', 'off', '--json'];
  const shell = ['sh', '-c', `${before} && exec "$0" "$@"`, process.execPath, ...imports, SPINDLE, ...args];
  const [command = '', ...rest] = ownMounts ? [...unshare(), ...shell] : shell;
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const log = text(child.stderr);
  const ended = once(child, 'exit').then(async ([code]: (number | null)[]) => ({
    code: code ?? null,
    log: await log,
  }));
  const ready = (async (): Promise<string> => {
    for await (const line of createInterface({ input: child.stdout })) {
      const { ready: addresses } = JSON.parse(line);
      return addresses.grpc;
    }
    const { code, log } = await ended;
    throw new Error(`the engine ended with ${code}: ${log}`);
  })();
  // A test that expects it to end looks at that instead.
  ready.catch(() => undefined);
  return { pid: child.pid ?? 0, ready, ended, signal: (signal) => child.kill(signal) };
}

function unshare(): string[] {
  return process.getuid?.() === 0 ? ['unshare', '--mount'] : ['unshare', '--map-root-user', '--mount'];
}

/** Whether this system lets us mount a file system for a process alone. */
export async function mayMount(): Promise<boolean> {
  const [command = '', ...rest] = [...unshare(), 'sh', '-c', 'mount -t tmpfs -o size=1m tmpfs /mnt'];
  const child = spawn(command, rest, { stdio: 'ignore' });
  const [code] = await Promise.race([once(child, 'exit'), once(child, 'error').then(() => [-1])]);
  return code === 0;
}

export interface Served extends ServeProcess {
  readonly client: RawClient;
  /** A worker for the tool `t`. */
  worker(): Promise<RawWorker>;
}

/** An engine that is ready, with a client. */
export async function served(options: ServeOptions): Promise<Served> {
  const engine = serve(options);
  const address = await engine.ready;
  const client = openClient(address);
  onTestFinished(() => client.close());
  return {
    ...engine,
    client,
    async worker() {
      const worker = await connectWorker(address, helloOf([{ name: 't' }]));
      onTestFinished(() => worker.vanish());
      return worker;
    },
  };
}
