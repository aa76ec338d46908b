import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openClient, type RawClient } from './raw-client.ts';

/** An engine on a file, in a process that can be killed and started again on the same file and port. */
export interface DurableEngine extends AsyncDisposable {
  readonly address: string;
  readonly client: RawClient;
  /** SIGKILL: nothing is flushed, nobody is told. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** What another engine on the same file says. */
  second(): Promise<{ readonly address?: string; readonly error?: string }>;
}

export async function durableEngine(): Promise<DurableEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'spindle-e2e-'));
  const journal = `sqlite:${join(folder, 'spindle.db')}`;
  let child: ChildProcess | undefined;
  let client: RawClient | undefined;
  let address = '127.0.0.1:0';

  const start = async (): Promise<void> => {
    const started = await startEngineProcess(journal, address);
    child = started.child;
    if (started.said.address === undefined) throw new Error(started.said.error);
    address = started.said.address;
    client = openClient(address);
  };
  const kill = async (): Promise<void> => {
    client?.close();
    client = undefined;
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    child = undefined;
    await exited;
  };
  await start();
  return {
    get address() {
      return address;
    },
    get client() {
      if (client === undefined) throw new Error('the engine was killed');
      return client;
    },
    kill,
    restart: start,
    async second() {
      const { child: other, said } = await startEngineProcess(journal, '127.0.0.1:0');
      if (other.exitCode === null) {
        const exited = once(other, 'exit');
        other.kill('SIGKILL');
        await exited;
      }
      return said;
    },
    async [Symbol.asyncDispose]() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startEngineProcess(journal: string, listen: string) {
  const child = fork(join(import.meta.dirname, 'engine-process.ts'), [journal, listen], {
    execArgv: [],
    stdio: 'ignore',
  });
  const [said] = (await once(child, 'message')) as [{ readonly address?: string; readonly error?: string }];
  return { child, said };
}
