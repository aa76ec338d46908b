import type { Command } from 'commander';
import { ENGINE_RULES } from '../conformance/engine/rules.ts';
import { UnstartableError } from '../conformance/process.ts';
import { type Finding, RULES, runEngineSuite, runSuite, UnreachableError } from '../conformance/suite.ts';
import { CommandError } from './command-error.ts';
import { END_SIGNALS, type EndSignal, EXIT, signalExitCode } from './exit-code.ts';
import { lengthOfTime, oneLine, styled } from './style.ts';

interface ConformanceFlags {
  readonly engine?: string;
  readonly only?: string;
  readonly json?: boolean;
}

const HELP = `
The command is started once for each rule, with SPINDLE_ADDRESS in its
environment, and has to offer the standard tools of docs/conformance.md. The
suite leaves with 0 when every rule passes, and with 1 when one does not.

Examples:
  spindle conformance -- python3 worker.py
  spindle conformance --only 5.5 -- ./my-worker  one section of docs/protocol.md
  spindle conformance --engine 127.0.0.1:7433    what an engine there does
  spindle conformance --json -- ./my-worker      one JSON array of findings:
                                                 section, title, passed, millis,
                                                 and for a failure expected,
                                                 came and output
`;

export function defineConformance(command: Command): void {
  command
    .description('Checks a worker in any language, or an engine, against the rules of the protocol.')
    .argument('[command...]', 'what starts the worker, after --')
    .option('--engine <address>', 'check the engine at HOST:PORT instead of a worker')
    .option('--only <rule>', 'only the rules of a section, 5.5 say, or one rule by its title')
    .option('--json', 'findings as JSON')
    .addHelpText('after', HELP)
    .action(conformance);
}

async function conformance(command: readonly string[], flags: ConformanceFlags): Promise<void> {
  const { engine, only, json } = flags;
  if ((engine === undefined) === (command.length === 0)) {
    const next = 'Write spindle conformance -- COMMAND, or spindle conformance --engine HOST:PORT.';
    throw new CommandError(EXIT.usage, 'usage', "name either a worker's command or an engine", next);
  }
  const rules = engine === undefined ? RULES : ENGINE_RULES;
  if (only !== undefined && !rules.some(({ section, title }) => section === only || title === only)) {
    const sections = [...new Set(rules.map(({ section }) => section))].join(', ');
    throw new CommandError(EXIT.usage, 'usage', `there is no rule ${only}`, `The sections are ${sections}.`);
  }
  const found = json === true ? () => undefined : (finding: Finding) => process.stdout.write(line(finding));
  const findings =
    engine === undefined ? await checkWorker(command, only, found) : await checkEngine(engine, only, found);
  const failed = findings.filter(({ passed }) => !passed).length;
  if (json === true) process.stdout.write(`${JSON.stringify(findings)}\n`);
  else process.stdout.write(`\n${findings.length - failed} passed, ${failed} failed\n`);
  if (failed > 0) process.exitCode = EXIT.toolFailed;
}

/** Ended by a signal, it ends its worker first, which is a group of its own and would not hear of it. */
async function checkWorker(
  command: readonly string[],
  only: string | undefined,
  found: (finding: Finding) => void,
): Promise<readonly Finding[]> {
  const ended = new AbortController();
  const end = (signal: EndSignal): void => {
    const message = 'The suite was ended, and its worker with it.';
    ended.abort(new CommandError(signalExitCode(signal), 'interrupted', message));
  };
  for (const signal of END_SIGNALS) process.once(signal, end);
  try {
    return await runSuite({ command, only, found, signal: ended.signal });
  } catch (error) {
    if (!(error instanceof UnstartableError)) throw error;
    const next = 'Name a program that is there and may be run; a relative path starts with ./';
    throw new CommandError(EXIT.usage, 'unstartable', `${error.message}.`, next);
  } finally {
    for (const signal of END_SIGNALS) process.off(signal, end);
  }
}

async function checkEngine(
  address: string,
  only: string | undefined,
  found: (finding: Finding) => void,
): Promise<readonly Finding[]> {
  try {
    return await runEngineSuite(address, only, found);
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    const next = 'Start one with `spindle serve`, or name another as HOST:PORT.';
    throw new CommandError(EXIT.unreachable, 'unreachable', error.message, next);
  }
}

function line({ section, title, passed, millis, expected = '', came = '', output = '' }: Finding): string {
  const mark = passed ? styled(process.stdout, 'green', 'pass') : styled(process.stdout, 'red', 'FAIL');
  const head = `${mark}  ${section.padEnd(5)} ${title} ${styled(process.stdout, 'dim', lengthOfTime(millis))}\n`;
  if (passed) return head;
  const printed = output
    .trimEnd()
    .split('\n')
    .slice(-SHOWN_LINES)
    .map((text) => `              | ${oneLine(text)}\n`);
  const said = output.trim() === '' ? [] : ['            the worker printed\n', ...printed];
  return [
    head,
    `            expected ${oneLine(expected)}\n`,
    `            came     ${oneLine(came)}\n`,
    ...said,
  ].join('');
}

/** Lines of the worker's output that a failure shows; --json has more. */
const SHOWN_LINES = 8;
