import type { Delta } from '../../../gen/spindle/v1/message_pb.ts';
import { failure } from '../../core/failure.ts';
import { REJECT_PAUSE_MS } from '../../core/limits.ts';
import type { Millis } from '../../core/time.ts';
import { CallStopped, type StopReason } from '../context.ts';
import type { SdkClock } from '../ports.ts';
import type { ProgressFields } from '../tool-context.ts';
import { messageOf } from '../tool-error.ts';
import type { Ending, Subject } from '../work.ts';
import type { HandlerSpans } from './handler-spans.ts';
import type { Instruction } from './instruction.ts';
import { stuck, type WorkerStatus } from './status.ts';

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
  readonly stream: (leaseToken: string, deltas: readonly Delta[]) => void;
  /** Called once for each run, once the handler has really stopped. */
  readonly end: (leaseToken: string, ending: Ending) => void;
  readonly tell: (status: WorkerStatus) => void;
  /** Undefined: handlers run without. */
  readonly spans?: HandlerSpans | undefined;
}

interface Running {
  readonly controller: AbortController;
  readonly subject: Subject;
  disarm: () => void;
}

export function createHandlers(options: HandlersOptions): Handlers {
  const { clock, tell } = options;
  const handlers = new Map<string, Running>();

  function abort(leaseToken: string, reason: StopReason, graceMs: Millis): void {
    const running = handlers.get(leaseToken);
    if (running === undefined || running.controller.signal.aborted) return;
    running.disarm = clock.alarm(clock.now() + graceMs, () => tell(stuck(running.subject)));
    running.controller.abort(new CallStopped(reason, graceMs));
  }

  return {
    run({ leaseToken, work, traceContext }) {
      const controller = new AbortController();
      const running: Running = { controller, subject: work.subject, disarm: () => undefined };
      handlers.set(leaseToken, running);
      const finish = (ending: Ending): void => {
        running.disarm();
        handlers.delete(leaseToken);
        options.end(leaseToken, ending);
      };
      const start = (): Promise<Ending> =>
        work.start({
          signal: controller.signal,
          now: clock.now,
          report: (fields) => options.report(leaseToken, fields),
          stream: (deltas) => options.stream(leaseToken, deltas),
          warn: (message) => tell({ kind: 'warning', message }),
        });
      const { spans } = options;
      const ending =
        spans === undefined ? start() : spans.within({ subject: work.subject, traceContext }, start);
      // Work takes whatever the author throws as its ending; this is for a fault of our own, so that even then
      // the dispatch ends at once and not by its timeout.
      ending.then(finish, (thrown: unknown) => finish(broken(work.subject, messageOf(thrown))));
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

/** A call fails; a decision, which nothing but a decision answers, is given back. */
function broken({ kind }: Subject, message: string): Ending {
  const reason = `the worker failed: ${message}`;
  return kind === 'call'
    ? { kind: 'answered', outcome: { case: 'error', value: failure('internal', reason) } }
    : { kind: 'gave_back', reason, retryAfterMs: REJECT_PAUSE_MS };
}
