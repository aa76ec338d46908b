/**
 * What may happen to tool calls, in one command: an engine, a worker and a caller, each a process of its own, and eight
 * things that happen to tool calls. A fourth process then reads every call back from the engine and judges it.
 *
 *   node examples/demo/demo.ts                  leaves with 0 if each came out as it should
 *   node examples/demo/demo.ts --break retry    makes one step go wrong, and with it the command
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createClient } from 'spindle';
import { line, remark, styled } from './account.ts';
import { type Started, start } from './processes.ts';
import { type CallsMade, type Finding, isStep, STEPS, type Step } from './record.ts';
import { SHOW } from './show-steps.ts';

const SPINDLE = join(import.meta.dirname, '../../src/cli/spindle.ts');

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { break: { type: 'string' } } });
  const broken = values.break;
  if (broken !== undefined && !isStep(broken)) {
    console.error(`demo: there is no step ${broken}. The steps are ${STEPS.join(', ')}.`);
    return 2;
  }
  const startedAt = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'spindle-demo-'));
  const started: Started[] = [];
  /** Ends what was started, the newest first, and tells whether each left with 0. */
  const stopAll = async (): Promise<boolean> => {
    const codes: (number | null)[] = [];
    for (const child of started.toReversed()) codes.push(await child.stop());
    await rm(folder, { recursive: true, force: true });
    return codes.every((code) => code === 0);
  };
  process.once('SIGINT', () => {
    stopAll().finally(() => process.exit(130));
  });

  const keep = (child: Started): Started => {
    started.push(child);
    return child;
  };
  const asExpected = await show(folder, broken, keep).catch((error: unknown) => {
    console.error(error);
    return false;
  });
  const clean = await stopAll();
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  line();
  if (asExpected && clean) {
    line(` ${styled(['green', 'bold'], 'All as it should be')}, in ${seconds} s. Nothing is left running.`);
    line(` ${styled('dim', 'Next: README.md takes five minutes to a tool of your own.')}`);
    return 0;
  }
  const why = asExpected ? 'A process did not end as it should' : 'Not as it should be';
  line(` ${styled(['red', 'bold'], why)}, after ${seconds} s. Nothing is left running.`);
  return 1;
}

/** Runs the whole piece. Gives whether the verifier found everything as it should be. */
async function show(
  folder: string,
  broken: Step | undefined,
  keep: (child: Started) => Started,
): Promise<boolean> {
  const engine = keep(start(SPINDLE, ['serve', '--listen', '127.0.0.1:0', '--http', 'off'], folder));
  const ready = await engine.firstLine();
  const address = /grpc=(\S+)/.exec(ready)?.[1];
  if (address === undefined)
    throw new Error(`the engine said ${JSON.stringify(ready)}, which names no address`);
  const workerArgs = [address, folder, ...(broken === undefined ? [] : [broken])];
  const worker = keep(start(join(import.meta.dirname, 'worker.ts'), workerArgs, folder));
  // It starts now, so that it is there by the time it is needed.
  const verifier = keep(start(join(import.meta.dirname, 'verify.ts'), [], folder));
  await worker.firstLine();

  const calls: Partial<Record<Step, readonly string[]>> = {};
  const client = createClient({ address });
  const tools = await client.tools();
  line();
  line(` ${styled('bold', 'Spindle')}  ${STEPS.length} things that happen to tool calls`);
  line();
  remark(`engine   ${address}, process ${engine.pid}, journal spindle-data/spindle.db`);
  remark(`worker   ${tools.length} tools that work on this project's files, process ${worker.pid}`);
  remark(`caller   this process, ${process.pid}`);

  try {
    for (const [index, step] of STEPS.entries()) calls[step] = await SHOW[step](client, index + 1);
  } finally {
    await client.close();
  }
  return await judged(verifier, { address, workspace: folder, calls });
}

/** Hands the ids to the verifier and shows what it finds. */
async function judged(verifier: Started, made: CallsMade): Promise<boolean> {
  line();
  line(` ${styled('bold', 'Read back from the engine')}${styled('dim', `, by process ${verifier.pid}`)}`);
  verifier.write(JSON.stringify(made));
  const findings: Finding[] = [];
  for await (const text of verifier.lines) {
    const finding: Finding = JSON.parse(text);
    findings.push(finding);
    const mark = finding.ok ? styled('green', '✓') : styled('red', '✗');
    line(`    ${mark} ${finding.step.padEnd(10)}${finding.detail}`);
  }
  const code = await verifier.exited;
  return code === 0 && findings.length === STEPS.length && findings.every(({ ok }) => ok);
}
