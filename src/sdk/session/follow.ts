import type { SessionUpdate } from '../../../gen/spindle/v1/session_service_pb.ts';
import { SpindleError, statusCode } from '../spindle-error.ts';
import { createPatience, isOverloaded, mayPass, type PatienceOptions } from './patience.ts';
import { type DeltaEvent, deltaEventOf, type LogEvent, logEventOf } from './session-event.ts';

/** A stream of a session's updates. */
export interface Source {
  /**
   * Opens it. `after` is the sequence of the last event that was read, undefined where none has been: what comes up
   * to there is left out, whatever the stream repeats.
   */
  readonly open: (
    after: number | undefined,
  ) => AsyncIterable<{ readonly update?: SessionUpdate | undefined }>;
  /** The stream ended with OK: whether that was to be expected, so that another one is opened at once. */
  readonly ended?: () => boolean;
}

/** An update as one reads it, and the cursor behind it. A kind that this version does not know is no event. */
export interface Followed {
  readonly event: LogEvent | DeltaEvent | undefined;
  readonly cursor: number | undefined;
}

/**
 * Reads a session's updates across broken connections, for ever: each event once and in order, without a gap (the
 * log is the session), and deltas as far as they get through.
 *
 * @param after the sequence of an event that was read before
 */
export async function* follow(
  source: Source,
  options: PatienceOptions,
  signal: AbortSignal,
  after?: number,
): AsyncGenerator<Followed, never, undefined> {
  const patience = createPatience(options);
  let cursor = after;
  for (;;) {
    try {
      for await (const { update } of source.open(cursor)) {
        patience.heard();
        if (update?.kind.case === 'delta') yield { event: deltaEventOf(update.kind.value), cursor };
        if (update?.kind.case !== 'event') continue;
        const event = update.kind.value;
        if (cursor !== undefined && event.sequence <= cursor) continue;
        cursor = event.sequence;
        yield { event: logEventOf(event), cursor };
      }
      if (source.ended?.() !== true) throw ENDED;
    } catch (error) {
      // A reader that was too slow for the engine reads on from its cursor.
      if (!mayPass(error) && !(cursor !== undefined && isOverloaded(error))) throw error;
      await patience.wait(error, signal);
    }
  }
}

const ENDED = new SpindleError('the engine ended the stream', { code: statusCode('UNAVAILABLE') });
