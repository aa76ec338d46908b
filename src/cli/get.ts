import type { Command } from 'commander';
import { showCall } from './call-standing.ts';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';

export function defineGet(command: Command): void {
  addConnectionOptions(command)
    .description('Shows a call as it stands: its state, its arguments, and how it ended.')
    .argument('<call>', 'the id of the call')
    .action(async (callId: string, flags: ConnectionFlags) => {
      const call = await withClient(flags, (client) => client.get(callId));
      showCall(call, flags.json === true);
    });
}
