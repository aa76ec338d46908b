import type { Command } from 'commander';
import type { Client, SessionEvent } from '../sdk/index.ts';
import { lengthOf, type Waterfall, type WaterfallRow, waterfallOf } from '../telemetry/waterfall.ts';
import { CommandError } from './command-error.ts';
import { addConnectionOptions, type ConnectionFlags, withClient } from './connection.ts';
import { EXIT } from './exit-code.ts';
import { lengthOfTime, oneLine, type Style, styled } from './style.ts';

interface TraceFlags extends ConnectionFlags {
  readonly turn?: string;
}

export function defineTrace(command: Command): void {
  addConnectionOptions(command)
    .description(
      'Draws what a call or a session has done so far: waits, attempts, model calls, with their times and errors. ' +
        'It reads the record of the engine, so that no backend for traces is needed.',
    )
    .argument('<id>', 'the id of a direct call, or of a session')
    .option('--turn <id>', 'of a session, only this turn')
    .action(trace);
}

async function trace(id: string, flags: TraceFlags): Promise<void> {
  const events = await withClient(flags, (client) => eventsOf(client, id));
  const waterfall = waterfallOf(events, flags.turn);
  if (waterfall === undefined) {
    const what = flags.turn === undefined ? 'It has done nothing so far.' : `It has no turn ${flags.turn}.`;
    throw new CommandError(EXIT.refused, 'nothing_recorded', `There is nothing to draw of ${id}. ${what}`);
  }
  process.stdout.write(
    flags.json === true ? `${JSON.stringify(json(waterfall))}\n` : `${drawn(waterfall, process.stdout)}\n`,
  );
}

/** A direct call where there is one of that id, else a session. */
async function eventsOf(client: Client, id: string): Promise<SessionEvent[]> {
  try {
    return await recorded(client, `call:${id}`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'NOT_FOUND')) throw error;
    return recorded(client, id);
  }
}

async function recorded(client: Client, sessionId: string): Promise<SessionEvent[]> {
  const events: SessionEvent[] = [];
  for await (const event of client.events(sessionId, { recordedOnly: true })) events.push(event);
  return events;
}

function json(waterfall: Waterfall): object {
  const { from, until, rows } = waterfall;
  return {
    from: new Date(from).toISOString(),
    durationMs: until - from,
    rows: rows.map((row) => ({
      depth: row.depth,
      kind: row.kind,
      label: row.label,
      note: row.note,
      startMs: row.from - from,
      durationMs: lengthOf(row, waterfall),
      running: row.until === undefined,
      outcome: row.outcome,
      error: row.code,
    })),
  };
}

/** Columns of the bars where the terminal leaves so many, and where there is no terminal. */
const BAR_COLUMNS = 40;
const MIN_BAR_COLUMNS = 10;

function drawn(waterfall: Waterfall, stream: NodeJS.WriteStream): string {
  const labels = waterfall.rows.map((row) => `${'  '.repeat(row.depth)}${oneLine(row.label)}`);
  const times = waterfall.rows.map((row) => lengthOfTime(lengthOf(row, waterfall)));
  const labelWidth = Math.max(...labels.map((label) => label.length));
  const timeWidth = Math.max(...times.map((time) => time.length));
  const noteWidth = Math.max(...waterfall.rows.map((row) => endOf(row).length));
  const room = stream.isTTY ? stream.columns - labelWidth - timeWidth - noteWidth - 6 : BAR_COLUMNS;
  const width = Math.max(MIN_BAR_COLUMNS, Math.min(room, 2 * BAR_COLUMNS));
  const lines = waterfall.rows.map((row, index) => {
    const label = (labels[index] ?? '').padEnd(labelWidth);
    const time = (times[index] ?? '').padStart(timeWidth);
    const bar = styled(stream, styleOf(row), barOf(row, waterfall, width));
    const end = styled(stream, row.outcome === 'failed' ? 'red' : 'dim', endOf(row));
    return `${row.kind === 'wait' ? styled(stream, 'dim', label) : label}  ${bar}  ${time}  ${end}`.trimEnd();
  });
  const began = styled(stream, 'dim', `began ${new Date(waterfall.from).toISOString()}`);
  return [began, ...lines].join('\n');
}

/** Where in the whole it was; what took no time is a mark all the same. */
function barOf(row: WaterfallRow, whole: Waterfall, width: number): string {
  const scale = whole.until > whole.from ? width / (whole.until - whole.from) : 0;
  const start = Math.min(Math.floor((row.from - whole.from) * scale), width - 1);
  const length = Math.max(1, Math.min(Math.round(lengthOf(row, whole) * scale), width - start));
  const fill = row.kind === 'wait' ? '·' : row.until === undefined ? '▒' : '█';
  return `${' '.repeat(start)}${fill.repeat(length)}`.padEnd(width);
}

function styleOf({ kind, outcome }: WaterfallRow): Style {
  if (outcome === 'failed') return 'red';
  if (outcome === 'cancelled' || outcome === 'denied') return 'yellow';
  switch (kind) {
    case 'wait':
      return 'dim';
    case 'model':
      return 'magenta';
    case 'attempt':
      return 'cyan';
    default:
      return 'green';
  }
}

function endOf({ outcome, code, note, until, kind }: WaterfallRow): string {
  const state =
    outcome === 'failed' || kind === 'wait' ? (code ?? '') : outcome === 'succeeded' ? '' : (outcome ?? '');
  const running = until === undefined ? 'running' : '';
  return [state, running, oneLine(note)].filter((part) => part !== '').join('  ');
}
