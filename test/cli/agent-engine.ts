import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Ended, serve, spindle, start, temporaryFolder } from './spindle.ts';

const STEERED = '\u001b[2J\u001b]0;owned\u0007 done';

const SCRIPTS = {
  steering: {
    position: 'conversation',
    answers: [
      { text: `Looking${STEERED}`, calls: [{ id: '1', name: 'find_order', arguments: '{"number":7}' }] },
      { text: `Found${STEERED}` },
    ],
  },
  failing: { answers: [{ fail: { code: 'refused', message: 'It does not want to.' } }], after: 'again' },
};

/** An engine with the agents of agents.ts, served by `spindle worker`, and commands that find it. */
export interface AgentEngine extends AsyncDisposable {
  readonly address: string;
  readonly environment: Readonly<Record<string, string>>;
  run(args: readonly string[], stdin?: string): Promise<Ended>;
  /** What a command prints for programs, line by line. */
  lines(args: readonly string[]): Promise<readonly Record<string, unknown>[]>;
}

export async function agentEngine(): Promise<AgentEngine> {
  const folder = await temporaryFolder();
  const tables: string[] = [];
  for (const [name, script] of Object.entries(SCRIPTS)) {
    const file = join(folder.path, `${name}.json`);
    await writeFile(file, JSON.stringify(script));
    tables.push(`[providers.${name}]\nkind = "scripted"\nfile = ${JSON.stringify(file)}\n`);
  }
  await writeFile(join(folder.path, 'spindle.toml'), tables.join('\n'));
  const engine = await serve(['--config', join(folder.path, 'spindle.toml')]);
  const environment = { SPINDLE_ADDRESS: engine.address };
  const worker = start(['worker', join(import.meta.dirname, 'agents.ts')], { environment });
  await worker.says(/serves at/);
  const run = (args: readonly string[], stdin?: string): Promise<Ended> =>
    spindle(args, stdin === undefined ? { environment } : { environment, stdin });
  return {
    address: engine.address,
    environment,
    run,
    async lines(args) {
      const { code, stdout, stderr } = await run([...args, '--json']);
      if (code === 70) throw new Error(stderr);
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    },
    async [Symbol.asyncDispose]() {
      await worker[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
