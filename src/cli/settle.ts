import type { Command } from 'commander';
import { type Settlement, ToolError } from '../sdk/index.ts';
import { type CallAddressFlags, callAddress } from './call-address.ts';
import { CommandError } from './command-error.ts';
import { addConnectionOptions, withClient } from './connection.ts';
import { EXIT } from './exit-code.ts';
import { attemptsOption, idOption } from './option-value.ts';

interface SettleFlags extends CallAddressFlags {
  readonly result?: string;
  readonly text?: string;
  readonly error?: string;
  readonly code?: string;
  readonly attempt?: number;
}

const HELP = `
Examples:
  spindle settle CALL --result '{"approved":true}'
  spindle settle CALL --text 'The parcel has arrived.'
  spindle settle CALL --session ID --result 7    a call of a session
  spindle settle CALL --error 'The parcel is lost.' --code lost
`;

export function defineSettle(command: Command): void {
  addConnectionOptions(command)
    .description('Ends a call that a tool left open, or that runs: with a result, or with a failure.')
    .argument('<call>', 'the id of the call')
    .option('--session <id>', 'the session that made the call', idOption)
    .option('--result <json>', 'the result, as JSON')
    .option('--text <text>', 'the result, as text')
    .option('--error <message>', 'the call failed, and why')
    .option('--code <code>', 'the code of the failure (default: tool_error)')
    .option('--attempt <n>', 'refuse unless this attempt is in force', attemptsOption)
    .addHelpText('after', HELP)
    .action(settle);
}

async function settle(callId: string, flags: SettleFlags): Promise<void> {
  const settlement = settlementOf(flags);
  const { attempt, json } = flags;
  const verdict = await withClient(flags, (client) =>
    client.settle(callId, settlement, {
      ...callAddress(flags),
      ...(attempt === undefined ? {} : { attempt }),
    }),
  );
  if (json === true) process.stdout.write(`${JSON.stringify({ callId, verdict })}\n`);
  else process.stdout.write(`${verdict}\n`);
  if (verdict === 'stale' || verdict === 'refused') process.exitCode = EXIT.refused;
}

function settlementOf({ result, text, error, code }: SettleFlags): Settlement {
  const given = [result, text, error].filter((option) => option !== undefined);
  if (given.length !== 1) {
    throw new CommandError(EXIT.usage, 'usage', 'Give one of --result, --text and --error.');
  }
  if (error !== undefined) return { error: new ToolError(error, code === undefined ? {} : { code }) };
  if (text !== undefined) return { result: text };
  try {
    return { result: JSON.parse(result ?? '') };
  } catch (fault) {
    const why = fault instanceof Error ? fault.message : String(fault);
    throw new CommandError(
      EXIT.usage,
      'usage',
      `--result is not JSON: ${why}. For plain text there is --text.`,
    );
  }
}
