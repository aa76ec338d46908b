import type { Command } from 'commander';
import type { CallEvent, CallResult } from '../sdk/index.ts';
import { type CallAddressFlags, callAddress } from './call-address.ts';
import { endJson, showEnd } from './call-end.ts';
import { addConnectionOptions, withClient } from './connection.ts';
import { EXIT } from './exit-code.ts';
import { idOption } from './option-value.ts';
import { showProgress } from './progress.ts';

export function defineWatch(command: Command): void {
  addConnectionOptions(command)
    .description(
      'Shows what happens to a call until its end, and then its result, with the exit code of `spindle call`.\n' +
        'With --json each event is one line: queued, started, progress, retrying, open, interrupted, finished.',
    )
    .argument('<call>', 'the id of the call')
    .option('--session <id>', 'the session that made the call', idOption)
    .action(watch);
}

async function watch(callId: string, flags: CallAddressFlags): Promise<void> {
  const json = flags.json === true;
  const progress = showProgress(json, flags.session);
  const end = await withClient(flags, async (client): Promise<CallResult | undefined> => {
    for await (const event of client.watch(callId, callAddress(flags))) {
      progress.event(event);
      if (json) process.stdout.write(`${JSON.stringify(eventJson(event))}\n`);
      if (event.kind === 'finished') return event.result;
    }
    return undefined;
  });
  if (end === undefined)
    throw new Error(`the engine ended the stream of call ${callId} before the call had ended`);
  if (!json) showEnd(end);
  else if (!end.ok) process.exitCode = EXIT.toolFailed;
}

function eventJson(event: CallEvent): object {
  switch (event.kind) {
    case 'finished':
      return { kind: event.kind, ...endJson(event.result) };
    case 'progress': {
      const { callId, kind, completed, total, activity } = event;
      return { kind, callId, completed, total, activity };
    }
    default:
      return event;
  }
}
