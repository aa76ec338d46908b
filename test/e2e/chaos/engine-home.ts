import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Processes, RunningProgram, StartOptions } from './processes.ts';

/** Where an engine listens and keeps its record: the same for each of its lives. */
export interface EngineHome {
  readonly address: string;
  /** The file of the journal. */
  readonly journal: string;
  readonly resumeGraceMs: number;
  readonly stopGraceMs: number;
}

/** A home in the folder of the processes, on a port that was free a moment ago. */
export async function engineHome(
  { folder }: Processes,
  bounds: Pick<EngineHome, 'resumeGraceMs' | 'stopGraceMs'>,
): Promise<EngineHome> {
  return { ...bounds, address: `127.0.0.1:${await freePort()}`, journal: join(folder, 'journal.db') };
}

/** Starts an engine and does not wait for it. */
export function launchEngine(processes: Processes, home: EngineHome, how?: StartOptions): RunningProgram {
  const flags = {
    listen: home.address,
    http: 'off',
    journal: `sqlite:${home.journal}`,
    'resume-grace': `${home.resumeGraceMs}ms`,
    'shutdown-grace': `${home.stopGraceMs}ms`,
    'log-level': 'error',
  };
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  return processes.startSpindle(['serve', ...args], how);
}

/** Resolves when a launched engine listens. Rejects, with what it said, where it ends before. */
export async function listening(engine: RunningProgram): Promise<void> {
  const { text } = await engine.next('line');
  if (!text.startsWith('spindle ready ')) throw new Error(`the engine printed ${JSON.stringify(text)}`);
}

/**
 * A port that an engine can be given again and again. It is below the range from which the system takes ports of
 * outgoing connections, so none of those takes it while the engine is down.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

const FIRST_PORT = 20_000;
const PORTS = 10_000;
