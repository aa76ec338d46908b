import type { Command } from 'commander';
import { type CallAddressFlags, callAddress } from './call-address.ts';
import { showCall } from './call-standing.ts';
import { CommandError } from './command-error.ts';
import { addConnectionOptions, withClient, withEngine } from './connection.ts';
import { EXIT } from './exit-code.ts';
import { idOption } from './option-value.ts';

interface CancelFlags extends CallAddressFlags {
  readonly turn?: string;
  readonly reason?: string;
}

const HELP = `
Examples:
  spindle cancel CALL
  spindle cancel CALL --session ID   a call of a session: its siblings go on
  spindle cancel --session ID        the turn that runs there, with its calls
`;

export function defineCancel(command: Command): void {
  addConnectionOptions(command)
    .description(
      'Stops a call: its worker is told, and it ends with the code cancelled. Shows it as it then stands. ' +
        'With --session and no call it stops a turn.',
    )
    .argument('[call]', 'the id of the call')
    .option('--session <id>', 'the session of the call or the turn', idOption)
    .option('--turn <id>', 'a turn of the session, also a queued one (default: the one that runs)', idOption)
    .option('--reason <text>', 'why, for the record')
    .addHelpText('after', HELP)
    .action(cancel);
}

async function cancel(callId: string | undefined, flags: CancelFlags): Promise<void> {
  const { session, turn } = flags;
  const reason = flags.reason === undefined ? {} : { reason: flags.reason };
  const json = flags.json === true;
  if (callId !== undefined) {
    if (turn !== undefined) throw new CommandError(EXIT.usage, 'usage', 'Give a call or --turn, not both.');
    const address = { ...callAddress(flags), ...reason };
    showCall(await withClient(flags, (client) => client.cancel(callId, address)), json);
    return;
  }
  if (session === undefined)
    throw new CommandError(EXIT.usage, 'usage', 'Give the id of a call, or --session to stop its turn.');
  const which = { ...(turn === undefined ? {} : { turnId: turn }), ...reason };
  const turnId = await withEngine(flags, ({ sessions }) => sessions.cancel(session, which));
  if (json) process.stdout.write(`${JSON.stringify({ sessionId: session, turnId: turnId ?? null })}\n`);
  else process.stdout.write(`${turnId === undefined ? 'no turn runs' : `cancelled turn ${turnId}`}\n`);
}
