import type { Command } from 'commander';
import type { Client, LogEvent } from '../sdk/index.ts';
import { eventJson } from '../sdk/session/event-json.ts';
import { logEventOf } from '../sdk/session/session-event.ts';
import { addConnectionOptions, type ConnectionFlags, withEngine } from './connection.ts';
import { createEventText } from './event-text.ts';
import { sequenceOption } from './option-value.ts';
import { columnsOf, cut, styled } from './style.ts';

interface EventsFlags extends ConnectionFlags {
  readonly follow?: boolean;
  readonly after: number;
}

const HELP = `
The log is the whole truth about a session. Each event has a number; --after
goes on behind one.

Examples:
  spindle events SESSION
  spindle events call:CALL           of a direct call
  spindle events SESSION --follow    what happens, until Ctrl-C
  spindle events SESSION --json | jq 'select(.kind=="tool.call.finished")'
`;

export function defineEvents(command: Command): void {
  addConnectionOptions(command)
    .description('Shows the events of a session, one a line.')
    .argument('<session>', 'the id of the session')
    .option('--follow', 'go on with what happens, across restarts of the engine')
    .option('--after <n>', 'only events behind this one', sequenceOption, 0)
    .addHelpText('after', HELP)
    .action(events);
}

async function events(sessionId: string, flags: EventsFlags): Promise<void> {
  const { stdout } = process;
  const describe = createEventText();
  let turnId: string | undefined;
  await withEngine(flags, async (client) => {
    for await (const event of eventsOf(client, sessionId, flags)) {
      if (flags.json === true) {
        stdout.write(`${JSON.stringify(eventJson(event))}\n`);
        continue;
      }
      if (event.turnId !== (turnId ?? '')) {
        stdout.write(`${styled(stdout, 'dim', event.turnId === '' ? '' : `turn ${event.turnId}`)}\n`);
      }
      turnId = event.turnId;
      const head = `${String(event.sequence).padStart(4)}  ${timeOf(event)}  ${event.kind.padEnd(KIND_COLUMNS)}`;
      stdout.write(`${cut(`${head}  ${describe(event)}`.trimEnd(), columnsOf(stdout))}\n`);
    }
  });
}

/** The longest names are rare, and may push their line to the right. */
const KIND_COLUMNS = 20;

/** The time of the day: a session's events stand close together. */
function timeOf({ occurredAt }: LogEvent): string {
  return occurredAt === undefined ? ' '.repeat(12) : occurredAt.toISOString().slice(11, 23);
}

async function* eventsOf(
  client: Client,
  sessionId: string,
  { follow, after: afterSequence }: EventsFlags,
): AsyncGenerator<LogEvent> {
  if (follow === true) {
    for await (const event of client.sessions.watch(sessionId, { afterSequence })) {
      if ('sequence' in event) yield event;
    }
    return;
  }
  for await (const event of client.events(sessionId, { afterSequence, recordedOnly: true })) {
    const known = logEventOf(event);
    if (known !== undefined) yield known;
  }
}
