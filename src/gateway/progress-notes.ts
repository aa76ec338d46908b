import type { CallUpdate } from '../../gen/spindle/v1/tool_service_pb.ts';
import { GATEWAY_PROGRESS_BURST, GATEWAY_PROGRESS_INTERVAL_MS } from '../core/limits.ts';
import type { Instant } from '../core/time.ts';

/** The parameters of a progress notification beside its token. */
export interface ProgressNote {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/**
 * Makes notes of progress of what happens to a call. MCP wants a number that grows with every note: it is what the
 * tool has completed, or while the tool counts nothing, the number of the note. Nobody can tell how fast a client
 * reads, so a flood is thinned out.
 */
export function createProgressNotes(now: () => Instant): (update: CallUpdate) => ProgressNote | undefined {
  let last = Number.NEGATIVE_INFINITY;
  let counts = false;
  let allowance = GATEWAY_PROGRESS_BURST;
  let filledAt = now();

  const allowed = (): boolean => {
    const at = now();
    allowance = Math.min(GATEWAY_PROGRESS_BURST, allowance + (at - filledAt) / GATEWAY_PROGRESS_INTERVAL_MS);
    filledAt = at;
    return allowance >= 1;
  };

  const note = (
    completed: number | undefined,
    total: number | undefined,
    message: string,
  ): ProgressNote | undefined => {
    counts ||= completed !== undefined;
    // Where the tool counts, nothing else may move the number.
    if (completed === undefined && counts) return undefined;
    const progress = completed ?? Math.max(last, 0) + 1;
    if (progress <= last || !allowed()) return undefined;
    allowance -= 1;
    last = progress;
    return {
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === '' ? {} : { message }),
    };
  };

  return ({ kind }) => {
    switch (kind.case) {
      case 'progress':
        return note(kind.value.completed, kind.value.total, kind.value.activity);
      case 'retrying':
        return note(undefined, undefined, `Attempt ${kind.value.attempt} failed; another follows`);
      case 'open':
        return note(undefined, undefined, 'Waiting for an answer from outside');
      case 'interrupted':
        return note(undefined, undefined, 'Waiting for a person');
      default:
        return undefined;
    }
  };
}
