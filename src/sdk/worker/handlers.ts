import { failure } from '../../core/failure.ts';
import type { Millis } from '../../core/time.ts';
import { CallStopped, type StopReason } from '../context.ts';
import type { AnswerOutcome } from '../outcome.ts';
import type { SdkClock } from '../ports.ts';
import type { ProgressFields } from '../tool-context.ts';
import { messageOf } from '../tool-error.ts';
import type { Instruction } from './instruction.ts';
import type { WorkerStatus } from './status.ts';

/** The handlers that run in this process, each by its lease. */
export interface Handlers {
  run(work: Extract<Instruction, { kind: 'run' }>): void;
  /** Asks a handler to stop. Only the first reason counts, and one that has stopped is not asked. */
  abort(leaseToken: string, reason: StopReason, graceMs: Millis): void;
  /** Asks all of them, and waits for none: the worker is over. */
  abortAll(reason: StopReason): void;
}

export interface HandlersOptions {
  readonly clock: SdkClock;
  readonly report: (leaseToken: string, fields: ProgressFields) => void;
  /** Called once for each run, once the handler has really stopped. */
  readonly answer: (leaseToken: string, outcome: AnswerOutcome) => void;
  readonly tell: (status: WorkerStatus) => void;
}

interface Running {
  readonly controller: AbortController;
  readonly toolName: string;
  readonly callId: string;
  disarm: () => void;
}

export function createHandlers(options: HandlersOptions): Handlers {
  const { clock, tell } = options;
  const handlers = new Map<string, Running>();

  function abort(leaseToken: string, reason: StopReason, graceMs: Millis): void {
    const running = handlers.get(leaseToken);
    if (running === undefined || running.controller.signal.aborted) return;
    const { callId, toolName } = running;
    running.disarm = clock.alarm(clock.now() + graceMs, () =>
      tell({ kind: 'handler_stuck', callId, toolName }),
    );
    running.controller.abort(new CallStopped(reason, graceMs));
  }

  return {
    run({ tool, dispatch, execute }) {
      const { leaseToken } = dispatch;
      const controller = new AbortController();
      const running: Running = {
        controller,
        toolName: execute.name,
        callId: execute.callId,
        disarm: () => undefined,
      };
      handlers.set(leaseToken, running);
      const finish = (outcome: AnswerOutcome): void => {
        running.disarm();
        handlers.delete(leaseToken);
        options.answer(leaseToken, outcome);
      };
      const answer = tool.handle?.(dispatch, execute, {
        signal: controller.signal,
        now: clock.now,
        report: (fields) => options.report(leaseToken, fields),
        warn: (message) => tell({ kind: 'warning', message }),
      });
      // `handle` takes whatever the author throws as an outcome; this is for a fault of our own, so that
      // even then the call ends at once and not by its timeout.
      const broken = (thrown: unknown): void =>
        finish({ case: 'error', value: failure('internal', `the worker failed: ${messageOf(thrown)}`) });
      if (answer === undefined) broken(new Error(`tool ${tool.name} has no handler`));
      else answer.then(finish, broken);
    },
    abort,
    abortAll(reason) {
      for (const { controller, disarm } of handlers.values()) {
        disarm();
        controller.abort(new CallStopped(reason, 0));
      }
    },
  };
}
