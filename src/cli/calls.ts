import type { Command } from 'commander';
import { type Call, callEnd } from '../sdk/index.ts';
import { callJson, isoTime } from './call-end.ts';
import { standing } from './call-standing.ts';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';
import { countOption } from './option-value.ts';
import { styled, table } from './style.ts';

interface CallsFlags extends ConnectionFlags {
  readonly name?: string;
  readonly unfinished?: boolean;
  readonly limit: number;
}

export function defineCalls(command: Command): void {
  addConnectionOptions(command)
    .description('Lists calls, newest first.')
    .option('--name <tool>', 'only calls of this tool')
    .option('--unfinished', 'only calls that have not ended')
    .option('--limit <n>', 'the most calls', countOption, 20)
    .action(calls);
}

async function calls(flags: CallsFlags): Promise<void> {
  const { name, unfinished, json } = flags;
  const found = await withClient(flags, async (client) => {
    const list = client.list({
      ...(name === undefined ? {} : { name }),
      ...(unfinished === undefined ? {} : { onlyUnfinished: unfinished }),
    });
    const page: Call[] = [];
    for await (const call of list) {
      page.push(call);
      if (page.length === flags.limit) break;
    }
    return page;
  });
  if (json === true) {
    process.stdout.write(`${JSON.stringify(found.map((call) => callJson(call, callEnd(call))))}\n`);
    return;
  }
  if (found.length === 0) {
    process.stderr.write(`${styled(process.stderr, 'dim', 'No calls.')}\n`);
    return;
  }
  const rows = found.map((call) => [
    call.callId,
    call.name,
    call.requestedAt === undefined ? '' : isoTime(call.requestedAt),
    standing(call),
  ]);
  process.stdout.write(`${table([['CALL', 'TOOL', 'REQUESTED', 'STATE'], ...rows], process.stdout)}\n`);
}
