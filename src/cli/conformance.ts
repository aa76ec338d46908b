import type { Command } from 'commander';
import { type Finding, RULES, runSuite } from '../conformance/suite.ts';
import { CommandError } from './command-error.ts';
import { EXIT } from './exit-code.ts';
import { lengthOfTime, oneLine, styled } from './style.ts';

interface ConformanceFlags {
  readonly only?: string;
  readonly json?: boolean;
}

const HELP = `
The command is started once for each rule, with SPINDLE_ADDRESS in its environment, and has to offer the standard
tools of docs/conformance.md. It leaves with 0 when every rule passes, and with 1 when one does not.

Examples:
  spindle conformance -- python3 worker.py
  spindle conformance --only 5.5 -- ./my-worker     the rules of one section of docs/protocol.md
  spindle conformance --json -- ./my-worker         one JSON array of findings: section, title, passed, millis,
                                                    and for a failure expected, came and output
`;

export function defineConformance(command: Command): void {
  command
    .description('Checks a worker, in whatever language it is written, against the rules of the protocol.')
    .argument('<command...>', 'what starts the worker, after --')
    .option('--only <rule>', 'only the rules of a section, 5.5 say, or one rule by its title')
    .option('--json', 'findings as JSON')
    .addHelpText('after', HELP)
    .action(conformance);
}

async function conformance(command: readonly string[], { only, json }: ConformanceFlags): Promise<void> {
  if (only !== undefined && !RULES.some(({ section, title }) => section === only || title === only)) {
    const sections = [...new Set(RULES.map(({ section }) => section))].join(', ');
    throw new CommandError(EXIT.usage, 'usage', `there is no rule ${only}`, `The sections are ${sections}.`);
  }
  const found = json === true ? () => undefined : (finding: Finding) => process.stdout.write(line(finding));
  const findings = await runSuite({ command, only, found });
  const failed = findings.filter(({ passed }) => !passed).length;
  if (json === true) process.stdout.write(`${JSON.stringify(findings)}\n`);
  else process.stdout.write(`\n${findings.length - failed} passed, ${failed} failed\n`);
  if (failed > 0) process.exitCode = EXIT.toolFailed;
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
