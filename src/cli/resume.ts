import type { Command } from 'commander';
import type { InterruptAnswer } from '../sdk/index.ts';
import { CommandError } from './command-error.ts';
import { addConnectionOptions, type ConnectionFlags, withEngine } from './connection.ts';
import { EXIT } from './exit-code.ts';

interface ResumeFlags extends ConnectionFlags {
  readonly deny?: string;
  readonly answer?: string;
}

const HELP = `
An interrupt is answered once. Exit code 3 says that it had been answered
before, perhaps otherwise, and that nothing has happened.

Examples:
  spindle sessions --waiting         what waits, and the commands that answer it
  spindle resume SESSION INTERRUPT   yes: what waits goes on
  spindle resume call:CALL INTERRUPT of a direct call
  spindle resume SESSION INTERRUPT --deny 'Not on a Friday.'
  spindle resume SESSION INTERRUPT --answer '{"amount":20}'
`;

export function defineResume(command: Command): void {
  addConnectionOptions(command)
    .description('Answers what waits for a person in a session: a call that wants approval, say.')
    .argument('<session>', 'the id of the session')
    .argument('<interrupt>', 'the id of the interrupt')
    .option('--deny <reason>', 'no, and why: the model reads it')
    .option('--answer <json>', 'yes, with what was asked for')
    .addHelpText('after', HELP)
    .action(resume);
}

async function resume(sessionId: string, interruptId: string, flags: ResumeFlags): Promise<void> {
  const answer = answerOf(flags);
  const resumed = await withEngine(flags, ({ sessions }) => sessions.resume(sessionId, interruptId, answer));
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify({ sessionId, interruptId, resumed })}\n`);
  } else if (resumed) {
    process.stdout.write(`${'deny' in answer ? 'denied' : 'resumed'}\n`);
  } else {
    process.stdout.write('answered before\n');
  }
  if (!resumed) process.exitCode = EXIT.refused;
}

function answerOf({ deny, answer }: ResumeFlags): InterruptAnswer {
  if (deny !== undefined && answer !== undefined)
    throw new CommandError(EXIT.usage, 'usage', 'Give one of --deny and --answer.');
  if (deny !== undefined) return { deny };
  if (answer === undefined) return { resume: undefined };
  try {
    return { resume: JSON.parse(answer) };
  } catch (fault) {
    const why = fault instanceof Error ? fault.message : String(fault);
    throw new CommandError(EXIT.usage, 'usage', `--answer is not JSON: ${why}. A text stands in quotes.`);
  }
}
