import { columnsOf, styled } from './style.ts';

/**
 * Where a turn is shown to a person: text of the model on standard output, all else on standard error. On a terminal
 * the text comes as it is made, and the newest state is one line that is rewritten.
 */
export interface TurnScreen {
  /** More of what the model says. */
  text(text: string): void;
  /** Ends a text: what comes next begins a line of its own. */
  endText(): void;
  /** A line that stays. */
  line(text: string): void;
  /** What is being done; it is gone with the next thing that is shown. */
  status(text: string): void;
  /** Takes the status away. */
  clear(): void;
  /** Keeps back what is to be shown until `release`, while a person is being asked. */
  hold(): void;
  release(): void;
  /** The columns of a line. */
  readonly columns: number;
}

const CLEAR_LINE = '\r\u001b[2K';
/** Longer lines, of a log say, are hard to read. */
const MAX_COLUMNS = 200;

export function createTurnScreen(): TurnScreen {
  const { stdout, stderr } = process;
  let hasStatus = false;
  /** A text of the model stands on the line where the cursor is. */
  let midText = false;
  let held: (() => void)[] | undefined;

  const whenFree = (show: () => void): void => {
    if (held === undefined) show();
    else held.push(show);
  };
  const clear = (): void => {
    if (hasStatus) stderr.write(CLEAR_LINE);
    hasStatus = false;
  };
  const endText = (): void => {
    if (midText) stdout.write('\n');
    midText = false;
  };

  return {
    text: (text) =>
      whenFree(() => {
        // Elsewhere the answer is written once, when it is known to be one.
        if (!stdout.isTTY || text === '') return;
        clear();
        stdout.write(text);
        midText = !text.endsWith('\n');
      }),
    endText: () => whenFree(endText),
    line: (text) =>
      whenFree(() => {
        clear();
        endText();
        stderr.write(`${text}\n`);
      }),
    status: (text) =>
      whenFree(() => {
        if (!stderr.isTTY || midText) return;
        clear();
        stderr.write(styled(stderr, 'dim', text));
        hasStatus = true;
      }),
    clear: () => whenFree(clear),
    hold() {
      clear();
      endText();
      held = [];
    },
    release() {
      const shows = held ?? [];
      held = undefined;
      for (const show of shows) show();
    },
    get columns() {
      return Math.min(columnsOf(stderr), MAX_COLUMNS);
    },
  };
}
