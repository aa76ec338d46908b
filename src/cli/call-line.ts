import type { LogEvent } from '../sdk/index.ts';
import { cut, lengthOfTime, oneLine, type Style, styled } from './style.ts';

/** A tool call of a turn, as far as its events have told of it. */
export interface ShownCall {
  readonly name: string;
  readonly arguments: string;
  /** When it was asked for, or last answered by a person: nobody waits for a tool in between. */
  readonly since: Date | undefined;
  /** What it was last said to be doing. */
  readonly activity: string;
}

export type CallFinished = Extract<LogEvent, { kind: 'tool.call.finished' }>;

interface End {
  readonly mark: string;
  readonly style: Style;
  readonly text: string;
}

/** One line for a call that has ended: how, which, what it did, and how long it took. */
export function callEndLine(call: ShownCall, event: CallFinished, columns: number): string {
  const { mark, style, text } = endOf(call, event);
  const { stderr } = process;
  const took =
    call.since === undefined || event.occurredAt === undefined
      ? ''
      : lengthOfTime(event.occurredAt.getTime() - call.since.getTime());
  const tries = event.data.attempts > 1 ? `${event.data.attempts} attempts, ` : '';
  const name = oneLine(call.name);
  const room = columns - name.length - tries.length - took.length - 9;
  const label = cut(oneLine(text), Math.max(MIN_LABEL_COLUMNS, room));
  const head = `  ${styled(stderr, style, mark)} ${styled(stderr, 'bold', name)}`;
  return `${head}  ${label}  ${styled(stderr, 'dim', `${tries}${took}`)}`.trimEnd();
}

const MIN_LABEL_COLUMNS = 12;

function endOf(call: ShownCall, { data: { outcome } }: CallFinished): End {
  switch (outcome.case) {
    case 'result': {
      const { isError, activity, content } = outcome.value;
      const said = content.map(({ kind }) => (kind.case === 'text' ? kind.value.text : '')).join(' ');
      if (isError) return { mark: '✗', style: 'red', text: said === '' ? 'failed' : said };
      return { mark: '✓', style: 'green', text: activity || call.activity || call.arguments };
    }
    case 'error': {
      const { code, message } = outcome.value;
      if (code === 'cancelled') return { mark: '✗', style: 'yellow', text: code };
      return { mark: '✗', style: code === 'denied' ? 'yellow' : 'red', text: `${code}: ${message}` };
    }
    case undefined:
      return { mark: '?', style: 'yellow', text: 'ended in a way that this version does not know' };
  }
}

/** What calls that run are doing, in one line. */
export function runningText(calls: readonly ShownCall[], columns: number): string {
  const newest = calls.at(-1);
  if (newest === undefined) return '';
  const more = calls.length > 1 ? ` (and ${calls.length - 1} more)` : '';
  const label = `  … ${oneLine(newest.name)}  ${oneLine(newest.activity || newest.arguments)}`;
  return `${cut(label, columns - more.length - 1)}${more}`;
}
