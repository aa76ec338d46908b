import type { CallEvent } from '../sdk/index.ts';
import { lengthOfTime, oneLine, styled } from './style.ts';

/** Tells a person on standard error what a call does. On a terminal the newest state is one line that is rewritten. */
export interface Progress {
  event(event: CallEvent): void;
  /** A line that stays. */
  note(text: string): void;
  /** A line that stays, for terminals alone. */
  footer(text: string): void;
  /** Takes the rewritten line away. */
  clear(): void;
}

const CLEAR_LINE = '\r\u001b[2K';

const SILENT: Progress = {
  event: () => undefined,
  note: () => undefined,
  footer: () => undefined,
  clear: () => undefined,
};

/**
 * @param sessionId the session that made the call; undefined for a direct call
 */
export function showProgress(silent: boolean, sessionId?: string): Progress {
  if (silent) return SILENT;
  const { stderr } = process;
  let shown = false;

  const clear = (): void => {
    if (shown) stderr.write(CLEAR_LINE);
    shown = false;
  };
  const note = (text: string): void => {
    clear();
    stderr.write(`${text}\n`);
  };
  const status = (text: string): void => {
    if (!stderr.isTTY) return;
    stderr.write(`${CLEAR_LINE}${styled(stderr, 'dim', text.slice(0, stderr.columns - 1))}`);
    shown = true;
  };

  return {
    event(event) {
      const text = eventText(event, sessionId);
      if (event.kind === 'finished') clear();
      else if (event.kind === 'progress' && !stderr.isTTY) note(text);
      else if (event.kind === 'retrying' || event.kind === 'open' || event.kind === 'interrupted') note(text);
      else status(text);
    },
    note,
    footer(text) {
      if (stderr.isTTY) note(text);
    },
    clear,
  };
}

/** One line for an event; two where a command answers it. */
function eventText(event: CallEvent, sessionId: string | undefined): string {
  switch (event.kind) {
    case 'queued':
      return 'waits for a worker';
    case 'started':
      return `runs${event.attempt > 1 ? ` (attempt ${event.attempt})` : ''} on ${oneLine(event.workerName)}`;
    case 'progress': {
      const { completed, total, activity } = event;
      const of = total === undefined ? '' : ` of ${total}`;
      const count = completed === undefined ? '' : `${completed}${of}`;
      return [count, oneLine(activity)].filter((part) => part !== '').join('  ');
    }
    case 'retrying': {
      const { attempt, error, backoffMs } = event;
      return `attempt ${attempt} failed (${oneLine(error.code)}: ${oneLine(error.message)}); again in ${lengthOfTime(backoffMs)}`;
    }
    case 'open':
      return `waits for an answer from outside:\n  spindle settle ${event.callId}${sessionId === undefined ? '' : ` --session ${sessionId}`}`;
    case 'interrupted':
      return `waits for a person: ${oneLine(event.reason)}\n  spindle resume ${sessionId ?? `call:${event.callId}`} ${event.interruptId}`;
    case 'finished':
      return event.result.ok ? 'ended' : `failed with ${oneLine(event.result.error.code)}`;
  }
}
