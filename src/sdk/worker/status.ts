import type { Millis } from '../../core/time.ts';

/** What an operator of a worker may want to know. Holds no argument, result or credential (9.4). */
export type WorkerStatus =
  /** A stream is up; `connectionId` names it in the engine's logs. */
  | { readonly kind: 'connected'; readonly connectionId: string; readonly streamNumber: number }
  /** The stream is gone. What runs goes on (5.5), and the worker connects again after `retryInMs`. */
  | {
      readonly kind: 'disconnected';
      readonly code: string;
      readonly message: string;
      readonly retryInMs: Millis;
    }
  /** The engine asked to reconnect: it shuts down, say. */
  | { readonly kind: 'go_away'; readonly reason: string; readonly reconnectInMs: Millis }
  /** Definitions that the engine refused; the other tools serve (2.2). */
  | {
      readonly kind: 'tools_refused';
      readonly tools: readonly { readonly name: string; readonly reason: string }[];
    }
  /** An answer broke the protocol or the output schema, and its attempt failed (4.8). */
  | {
      readonly kind: 'answer_refused';
      readonly callId: string;
      readonly toolName: string;
      readonly reason: string;
    }
  /** A dispatch was given back unstarted (4.3). */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** A handler went on after its grace. Its slot stays taken until it stops (4.4). */
  | { readonly kind: 'handler_stuck'; readonly callId: string; readonly toolName: string }
  /** Something beside a call went wrong: a label that could not be made, say (6.13). */
  | { readonly kind: 'warning'; readonly message: string }
  | { readonly kind: 'draining'; readonly reason: string }
  /** The worker is done. `unfinished` counts the handlers and answers that its drain had to leave (5.9). */
  | { readonly kind: 'stopped'; readonly unfinished: number };

/** Prints what needs a person. The default of a worker that is given no `onStatus`. */
export function warnOnConsole(status: WorkerStatus): void {
  const text = warningOf(status);
  if (text !== undefined) console.warn(`spindle worker: ${text}`);
}

function warningOf(status: WorkerStatus): string | undefined {
  switch (status.kind) {
    case 'disconnected':
      return `disconnected (${status.code}: ${status.message}); connecting again in ${Math.round(status.retryInMs)} ms`;
    case 'tools_refused':
      return status.tools.map(({ name, reason }) => `tool ${name} was refused: ${reason}`).join('; ');
    case 'answer_refused':
      return `the answer of ${status.toolName} to call ${status.callId} was refused: ${status.reason}`;
    case 'handler_stuck':
      return `${status.toolName} goes on with call ${status.callId} after it was asked to stop: listen to context.signal`;
    case 'warning':
      return status.message;
    case 'rejected':
    case 'go_away':
    case 'connected':
    case 'draining':
      return undefined;
    case 'stopped':
      return status.unfinished === 0
        ? undefined
        : `stopped with ${status.unfinished} calls unfinished: their handlers took longer than the drain`;
  }
}
