import type { Command } from 'commander';
import { showCall } from './call-standing.ts';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';

interface CancelFlags extends ConnectionFlags {
  readonly reason?: string;
}

export function defineCancel(command: Command): void {
  addConnectionOptions(command)
    .description(
      'Stops a call: its worker is told, and it ends with the code cancelled. Shows it as it then stands.',
    )
    .argument('<call>', 'the id of the call')
    .option('--reason <text>', 'why, for the record')
    .action(async (callId: string, flags: CancelFlags) => {
      const { reason } = flags;
      const call = await withClient(flags, (client) =>
        client.cancel(callId, reason === undefined ? {} : { reason }),
      );
      showCall(call, flags.json === true);
    });
}
