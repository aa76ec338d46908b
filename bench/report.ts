import type { MemoryUse } from './memory.ts';
import type { Startup } from './startup.ts';
import type { Throughput } from './throughput.ts';
import type { SessionMemory, Turns } from './turns.ts';

export interface Report {
  readonly node: string;
  readonly cores: number;
  readonly throughput: readonly Throughput[];
  readonly startup: Startup;
  readonly memory: MemoryUse;
  readonly turns: readonly Turns[];
  readonly sessions: SessionMemory;
}

/** The report for people, as text. */
export function printed({ node, cores, throughput, startup, memory, turns, sessions }: Report): string {
  return [
    `Node ${node}, ${cores} cores. Ratios are to the floor of the same round; medians of all rounds.`,
    '',
    ...table(
      ['in flight', '', 'calls/s', 'ratio', 'p50 ms', 'ratio', 'p99 ms', 'ratio'],
      throughput.map((row) => [
        String(row.inFlight),
        row.name,
        row.callsPerSecond.toFixed(0),
        row.rateRatio.toFixed(2),
        row.p50.toFixed(3),
        row.p50Ratio.toFixed(2),
        row.p99.toFixed(3),
        row.p99Ratio.toFixed(2),
      ]),
    ),
    '',
    'CPU seconds for 100,000 calls:',
    '',
    ...table(
      ['in flight', '', 'caller', 'middle', 'worker'],
      throughput.map(({ inFlight, name, cpu }) => [
        String(inFlight),
        name,
        cpu.caller.toFixed(2),
        cpu.middle.toFixed(2),
        cpu.worker.toFixed(2),
      ]),
    ),
    '',
    `Import of ./worker: ${startup.workerImport.toFixed(0)} ms. spindle serve ready: ${startup.serveReady.toFixed(0)} ms.`,
    `Memory of the engine: ${memory.bytesPerRunningCall.toFixed(0)} bytes for a running call, ` +
      `${memory.bytesPerWaitingCall.toFixed(0)} for a waiting one.`,
    `After ${memory.calls} calls: ${memory.bytesPerEndedCall.toFixed(2)} bytes kept for each, ` +
      `handles ${memory.handlesBefore} before and ${memory.handlesAfter} after.`,
    '',
    'Turns with two model calls that are answered at once:',
    '',
    ...table(
      [
        'in flight',
        'journal',
        'calls a turn',
        'turns/s',
        'calls/s',
        'direct calls/s',
        'p50 ms',
        'p99 ms',
        'CPU ms',
        'of a direct call',
      ],
      turns.map((row) => [
        String(row.inFlight),
        row.journal,
        String(row.callsPerTurn),
        row.turnsPerSecond.toFixed(0),
        (row.turnsPerSecond * row.callsPerTurn).toFixed(0),
        row.directCallsPerSecond.toFixed(0),
        row.p50.toFixed(2),
        row.p99.toFixed(2),
        row.cpuPerTurn.toFixed(3),
        row.cpuPerCall.toFixed(3),
      ]),
    ),
    '',
    `${sessions.sessions} sessions that have had a turn and are not in use take ${sessions.bytesPerIdleSession.toFixed(1)} bytes ` +
      `of the engine's memory each; ${sessions.active} whose turn waits for a tool, ${sessions.bytesPerActiveSession.toFixed(0)} each.`,
  ].join('\n');
}

/** A table of Markdown, so that docs/performance.md can take it as it is. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  // All are numbers but the second, which is a name.
  const pad = (cell: string, column: number): string =>
    column === 1 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const line = (cells: readonly string[]): string => `| ${cells.map(pad).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column === 1 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(head), line(rule), ...rows.map(line)];
}
