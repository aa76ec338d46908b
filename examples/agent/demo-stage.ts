import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'spindle';
import { line, styled } from '../demo/account.ts';
import { type Started, start } from '../demo/processes.ts';

const SPINDLE = join(import.meta.dirname, '../../src/cli/spindle.ts');

/** The processes of a demonstration, and a folder for what they leave. */
export interface Stage {
  readonly home: string;
  /** An engine that listens, with its journal in the folder. */
  engine(listen: string): Promise<Started & { readonly address: string }>;
  worker(script: string, args: readonly string[]): Promise<Started>;
  /** Ends what still runs, and removes the folder. */
  clear(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const home = await mkdtemp(join(tmpdir(), 'spindle-demo-'));
  const started: Started[] = [];
  const begin = async (script: string, args: readonly string[]) => {
    const process = start(script, args, home);
    started.push(process);
    return { process, ready: await process.firstLine() };
  };
  return {
    home,
    async engine(listen) {
      const { process, ready } = await begin(SPINDLE, ['serve', '--listen', listen, '--http', 'off']);
      const address = /grpc=(\S+)/.exec(ready)?.[1];
      if (address === undefined) throw new Error(`the engine said ${ready}, which names no address`);
      return { ...process, address };
    },
    worker: async (script, args) => (await begin(script, args)).process,
    async clear() {
      for (const process of started.toReversed()) await process.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/**
 * Shows a command as one would type it, and runs it where one sees what it says. Rejects where it leaves with another
 * exit code than it should.
 */
export async function command(address: string, args: readonly string[], exitCode = 0): Promise<void> {
  const words = args.map((word) => (/^[\w./:-]+$/.test(word) ? word : `'${word}'`));
  line(`    ${styled('cyan', `$ spindle ${words.join(' ')}`)}`);
  const child = spawn(process.execPath, [SPINDLE, ...args], {
    env: { ...process.env, SPINDLE_ADDRESS: address },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== exitCode) throw new Error(`spindle ${args[0]} left with ${code}, and not with ${exitCode}.`);
}

/** Resolves once something is written in a file that is there, or rejects with the reason of the signal. */
export async function written(path: string, signal: AbortSignal): Promise<void> {
  const watcher = watch(path);
  try {
    while ((await stat(path)).size === 0) await once(watcher, 'change', { signal });
  } finally {
    watcher.close();
  }
}

/** The interrupt that a session waits at. */
export async function interruptOf(address: string, sessionId: string): Promise<string> {
  await using client = createClient({ address });
  const { session } = await client.sessions.get(sessionId);
  const [item] = session.openItems;
  if (item === undefined) throw new Error(`session ${sessionId} waits for nobody`);
  return item.id;
}

/** Resolves once a turn of the session has ended. */
export async function turnEnd(address: string, sessionId: string): Promise<void> {
  await using client = createClient({ address });
  for await (const { kind } of client.sessions.watch(sessionId)) if (kind === 'turn.ended') return;
}
