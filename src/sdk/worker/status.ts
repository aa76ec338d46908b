import type { Millis } from '../../core/time.ts';
import type { Subject } from '../work.ts';

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
  /** A decision did not fit its trigger, and is asked again (6.16). */
  | {
      readonly kind: 'decision_refused';
      readonly decisionId: string;
      readonly agentId: string;
      readonly trigger: string;
      readonly reason: string;
    }
  /** The handler of a decision failed. It was given back, and the engine asks again. */
  | {
      readonly kind: 'decision_failed';
      readonly decisionId: string;
      readonly agentId: string;
      readonly trigger: string;
      readonly reason: string;
    }
  /** A dispatch was given back unstarted (4.3). */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** A handler went on after its grace. Its slot stays taken until it stops (4.4). */
  | { readonly kind: 'handler_stuck'; readonly callId: string; readonly toolName: string }
  | {
      readonly kind: 'decider_stuck';
      readonly decisionId: string;
      readonly agentId: string;
      readonly trigger: string;
    }
  /** Something beside a call went wrong: a label that could not be made, say (6.13). */
  | { readonly kind: 'warning'; readonly message: string }
  | { readonly kind: 'draining'; readonly reason: string }
  /** The worker is done. `unfinished` counts the handlers and answers that its drain had to leave (5.9). */
  | { readonly kind: 'stopped'; readonly unfinished: number };

export function refusedAnswer(subject: Subject, reason: string): WorkerStatus {
  if (subject.kind === 'call') {
    const { callId, toolName } = subject;
    return { kind: 'answer_refused', callId, toolName, reason };
  }
  return { ...subject, kind: 'decision_refused', reason };
}

export function failedDecision(subject: Subject, reason: string): WorkerStatus {
  return subject.kind === 'call'
    ? { kind: 'warning', message: `${subject.toolName}: ${reason}` }
    : { ...subject, kind: 'decision_failed', reason };
}

export function stuck(subject: Subject): WorkerStatus {
  if (subject.kind === 'decision') return { ...subject, kind: 'decider_stuck' };
  const { callId, toolName } = subject;
  return { kind: 'handler_stuck', callId, toolName };
}

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
    case 'decision_refused':
      return `the decision of ${status.agentId} about ${status.trigger} was refused: ${status.reason}`;
    case 'decision_failed':
      return `no decision about ${status.trigger}: ${status.reason}`;
    case 'decider_stuck':
      return `the handler of ${status.agentId} for ${status.trigger} goes on after it was asked to stop: listen to context.signal`;
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
