import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Order, Report } from './programs/reports.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A program that runs as a process of its own. */
export interface RunningProgram {
  readonly pid: number;
  /** Resolves when it has ended, however it ended. */
  readonly exited: Promise<Exit>;
  readonly ended: boolean;
  /** The next report of a kind that nobody has taken yet. Rejects, with what it printed, where it ends before. */
  next<Kind extends Report['kind']>(kind: Kind): Promise<Extract<Report, { kind: Kind }>>;
  tell(order: Order): void;
  signal(signal: NodeJS.Signals): void;
  /** What it wrote to its standard error lately. */
  complaints(): string;
}

export interface StartOptions {
  /** Node can be made to collect garbage from inside. */
  readonly exposeGc?: boolean;
  /** Takes the reports as they come; they are not kept for `next` then. */
  readonly onReport?: (report: Report) => void;
}

/** Processes that live no longer than the scope that holds them, and a folder that goes with them. */
export interface Processes extends AsyncDisposable {
  readonly folder: string;
  /** Starts a program of programs/, which gets its options as JSON. */
  start(program: string, options: object, how?: StartOptions): RunningProgram;
  /** Starts `spindle` with arguments. */
  startSpindle(args: readonly string[], how?: StartOptions): RunningProgram;
}

const PROGRAMS = join(import.meta.dirname, 'programs');
const SPINDLE = join(import.meta.dirname, '../../../src/cli/spindle.ts');

/** Lines of standard error that are kept of each process. */
const KEPT_LINES = 50;

export async function openProcesses(): Promise<Processes> {
  const folder = await mkdtemp(join(tmpdir(), 'spindle-e2e-'));
  const running = new Set<RunningProgram>();
  const start = (path: string, args: readonly string[], how: StartOptions = {}): RunningProgram => {
    const started = startProgram(path, args, how, join(folder, 'compiled'));
    running.add(started);
    started.exited.then(() => running.delete(started));
    return started;
  };
  return {
    folder,
    start: (program, options, how) => start(join(PROGRAMS, `${program}.ts`), [JSON.stringify(options)], how),
    startSpindle: (args, how) => start(SPINDLE, args, how),
    async [Symbol.asyncDispose]() {
      const left = [...running];
      for (const program of left) program.signal('SIGKILL');
      await Promise.all(left.map(({ exited }) => exited));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function startProgram(
  path: string,
  args: readonly string[],
  { exposeGc = false, onReport }: StartOptions,
  compileCache: string,
): RunningProgram {
  const child = fork(path, args, {
    execPath: process.execPath,
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    execArgv: ['--import', join(PROGRAMS, 'leash.ts'), ...(exposeGc ? ['--expose-gc'] : [])],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${path} could not be started`);
  const kept: Report[] = [];
  const readers = new Set<() => void>();
  const errors: string[] = [];
  let exit: Exit | undefined;

  const receive = (report: Report): void => {
    if (onReport !== undefined) {
      onReport(report);
      return;
    }
    kept.push(report);
    for (const look of [...readers]) look();
  };
  child.on('message', (report: Report) => receive(report));
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (text) => receive({ kind: 'line', text }));
  }
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (text) => {
      errors.push(text);
      if (errors.length > KEPT_LINES) errors.shift();
    });
  }
  // What is sent to a process that has just been killed is lost, as it should be.
  child.on('error', (error) => errors.push(String(error)));
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      exit = { code, signal };
      for (const look of [...readers]) look();
      resolve(exit);
    });
  });

  return {
    pid,
    exited,
    get ended() {
      return exit !== undefined;
    },
    next: (kind) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const index = kept.findIndex((report) => report.kind === kind);
          const [report] = index < 0 ? [] : kept.splice(index, 1);
          if (report === undefined && exit === undefined) return;
          readers.delete(look);
          if (report !== undefined) resolve(report as Extract<Report, { kind: typeof kind }>);
          else reject(new Error(`${path} ended before its ${kind}: ${errors.join('\n')}`));
        };
        readers.add(look);
        look();
      }),
    tell: (order) => sendTo(child, order),
    signal: (signal) => child.kill(signal),
    complaints: () => errors.join('\n'),
  };
}

function sendTo(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order);
}
