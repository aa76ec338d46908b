import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { Load, LoadResult, Question, Ready, Usage } from './role.ts';

/** A measured process, from outside. Every promise rejects when the process ends before its answer. */
export interface Measured {
  readonly address: string;
  usage(options?: { readonly collect: boolean }): Promise<Usage>;
  load(load: Load): Promise<LoadResult>;
  open(tool: string, calls: number): Promise<void>;
  count(): Promise<number>;
  stop(): Promise<void>;
}

/** The second is what `spindle` sets for itself; the floor has it as well. */
const EXEC_ARGV = ['--expose-gc', '--no-allocation-site-pretenuring'];

/** Starts a program of bench/roles in a process of its own, and waits until it is ready. */
export async function startProcess(role: string, ...args: readonly string[]): Promise<Measured> {
  const child = fork(join(import.meta.dirname, 'roles', `${role}.ts`), args, { execArgv: EXEC_ARGV });
  const { address } = (await next(role, child)) as Ready;

  const ask = (question: Question): Promise<unknown> => {
    const answer = next(role, child);
    child.send(question);
    return answer;
  };
  return {
    address,
    usage: async (options = { collect: false }) => (await ask({ kind: 'usage', ...options })) as Usage,
    load: async (load) => (await ask({ kind: 'load', load })) as LoadResult,
    async open(tool, calls) {
      await ask({ kind: 'open', tool, calls });
    },
    count: async () => (await ask({ kind: 'count' })) as number,
    async stop() {
      if (child.exitCode !== null) return;
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** What the process says next. */
function next(role: string, child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const said = (message: unknown): void => {
      child.off('exit', left);
      resolve(message);
    };
    const left = (code: number | null, signal: string | null): void => {
      child.off('message', said);
      reject(new Error(`the process ${role} ended with ${signal ?? code}`));
    };
    child.once('message', said);
    child.once('exit', left);
  });
}
