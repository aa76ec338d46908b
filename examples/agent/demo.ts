/**
 * An agent at work, in one command: an engine, a worker with the agent and its tools, and three turns, by the command
 * line. The files are a copy of this project's docs.
 *
 *   node examples/agent/demo.ts                       leaves with 0 if all came out as it should
 *   node examples/agent/demo.ts --model local/demo
 *
 * Without --model it takes a provider whose key is in the environment, else the local model, which needs none.
 */
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { line, remark, styled } from '../demo/account.ts';
import { judge, NOTE } from './demo-judge.ts';
import { demoModel } from './demo-model.ts';
import { command, interruptOf, openStage, type Stage, turnEnd, written } from './demo-stage.ts';

/** The exit code of a turn that waits for somebody. */
const WAITS = 9;

const { values } = parseArgs({ options: { model: { type: 'string' } } });
const stage = await openStage();
process.once('SIGINT', () => {
  stage.clear().finally(() => process.exit(130));
});
const isGood = await show(stage, values.model ?? demoModel(process.env)).catch((error: unknown) => {
  line();
  line(`    ${error instanceof Error ? error.message : String(error)}`);
  line('    With --model local/demo it needs no key and no network.');
  return false;
});
await stage.clear();
line();
if (isGood) line(` ${styled(['green', 'bold'], 'All as it should be')}. Nothing is left running.`);
else line(` ${styled(['red', 'bold'], 'Not as it should be')}. Nothing is left running.`);
process.exitCode = isGood ? 0 : 1;

/** Plays the whole piece. Gives whether the logs and the files say that all is as it should be. */
async function show(stage: Stage, model: string): Promise<boolean> {
  const folder = join(stage.home, 'docs');
  const ledger = join(stage.home, 'ledger');
  await cp(join(import.meta.dirname, '../../docs'), folder, { recursive: true });
  await writeFile(ledger, '');
  const engine = await stage.engine('127.0.0.1:0');
  const { address } = engine;
  const script = join(import.meta.dirname, 'demo-worker.ts');
  const worker = await stage.worker(script, [address, folder, model, ledger]);

  line();
  line(` ${styled('bold', 'Spindle')}  an agent, its tools, and what may happen to them`);
  line();
  remark(`engine   ${address}, process ${engine.pid}`);
  remark(`worker   process ${worker.pid}: an agent, and tools for a copy of docs/`);
  remark(`model    ${model}${model === 'local/demo' ? ', which is built in and needs no key' : ''}`);

  const sessions = { read: 'reading', write: 'writing', survive: 'surviving' };
  const ask = (sessionId: string, message: string, exitCode = 0): Promise<void> =>
    command(address, ['run', 'folder', message, '--session', sessionId], exitCode);

  scene(1, 'It reads: two calls at once, and an answer from what they found');
  await ask(sessions.read, 'How many words are in errors.md and cli.md?');

  scene(2, 'It wants to write, and a person says yes from another terminal');
  await ask(sessions.write, `Write a note named ${NOTE} saying "The kingfisher is blue."`, WAITS);
  await command(address, ['resume', sessions.write, await interruptOf(address, sessions.write)]);
  await turnEnd(address, sessions.write);
  await command(address, ['trace', sessions.write]);

  scene(3, 'Its engine is killed while a tool runs, and another one goes on');
  const turn = ask(sessions.survive, 'Compute the checksum of all files.');
  const early = new AbortController();
  turn.then(
    () => early.abort(new Error('The turn ended before its tool had run.')),
    (error: unknown) => early.abort(error),
  );
  await written(ledger, early.signal);
  await engine.kill();
  line(`\n    ${styled('yellow', `kill -9 ${engine.pid}`)}  the engine is gone, and the tool runs on`);
  const { pid } = await stage.engine(address);
  line(`    ${styled('yellow', `process ${pid}`)}  a new engine, on the same journal`);
  await turn;

  const findings = await judge({ address, folder, ledger, sessions });
  line();
  line(` ${styled('bold', 'Read back from the engine, and from the files')}`);
  for (const { ok, text } of findings) line(`    ${ok ? styled('green', '✓') : styled('red', '✗')} ${text}`);
  return findings.every(({ ok }) => ok);
}

function scene(number: number, title: string): void {
  line();
  line(` ${styled('bold', `${number}  ${title}`)}`);
}
