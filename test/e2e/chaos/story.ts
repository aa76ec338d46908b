import type { SessionEvent, ToolCallFinished } from '../../../gen/spindle/v1/event_pb.ts';
import { instantOf } from '../../../src/core/time.ts';

/** One dispatch, as the log tells it. */
export interface DispatchRecord {
  readonly leaseToken: string;
  readonly attempt: number;
  readonly worker: string;
  /** It came back unstarted. */
  returned: boolean;
}

/** An attempt that ended without an answer. */
export interface Loss {
  readonly at: number;
  readonly worker: string;
  readonly attempt: number;
  readonly code: string;
}

/** What the log of a call tells, read without the engine's own rules. */
export interface Story {
  readonly tool: string;
  readonly dispatches: readonly DispatchRecord[];
  readonly losses: readonly Loss[];
  readonly ends: readonly ToolCallFinished[];
  /** The first of them. */
  readonly end: ToolCallFinished | undefined;
  /** Reasons for which a dispatch came back unstarted. */
  readonly requeues: readonly string[];
  readonly lateAnswers: number;
}

export function readStory(log: readonly SessionEvent[]): Story {
  let tool = '';
  const dispatches: DispatchRecord[] = [];
  const losses: Loss[] = [];
  const ends: ToolCallFinished[] = [];
  const requeues: string[] = [];
  let lateAnswers = 0;
  for (const { kind, journal, occurredAt } of log) {
    const at = occurredAt === undefined ? 0 : instantOf(occurredAt);
    const last = dispatches.at(-1);
    const lose = (code: string): void => {
      losses.push({ at, worker: last?.worker ?? '', attempt: last?.attempt ?? 0, code });
    };
    switch (kind.case) {
      case 'toolCallRequested':
        tool = kind.value.name;
        break;
      case 'toolCallDispatched': {
        const { attempt, workerName: worker } = kind.value;
        dispatches.push({ leaseToken: journal?.leaseToken ?? '', attempt, worker, returned: false });
        break;
      }
      case 'toolCallRequeued':
        requeues.push(kind.value.reason);
        if (last !== undefined) last.returned = true;
        break;
      case 'toolCallAttemptFailed':
        lose(kind.value.error?.code ?? '');
        break;
      case 'toolCallFinished':
        ends.push(kind.value);
        if (kind.value.outcome.case === 'error') lose(kind.value.outcome.value.code);
        break;
      case 'toolCallLateAnswer':
        lateAnswers += 1;
        break;
      default:
        break;
    }
  }
  return { tool, dispatches, losses, ends, end: ends[0], requeues, lateAnswers };
}
