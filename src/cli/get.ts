import type { Command } from 'commander';
import { type CallAddressFlags, callAddress } from './call-address.ts';
import { showCall } from './call-standing.ts';
import { addConnectionOptions, withClient } from './connection.ts';
import { idOption } from './option-value.ts';

export function defineGet(command: Command): void {
  addConnectionOptions(command)
    .description('Shows a call as it stands: its state, its arguments, and how it ended.')
    .argument('<call>', 'the id of the call')
    .option('--session <id>', 'the session that made the call', idOption)
    .action(async (callId: string, flags: CallAddressFlags) => {
      const call = await withClient(flags, (client) => client.get(callId, callAddress(flags)));
      showCall(call, flags.json === true);
    });
}
