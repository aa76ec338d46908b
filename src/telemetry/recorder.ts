import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import type { TraceOrigin } from '../core/activity.ts';
import { TransientMap } from '../core/transient-map.ts';
import type { Observer, Recorder, SessionKey } from '../engine/ports.ts';
import { type Activity, refusalOf } from './activity.ts';
import { SessionActivities } from './session-activities.ts';

/** Takes the activities of all sessions as they end: spans and metrics are two of them. */
export interface ActivitySink {
  /** Whether it wants what happens under an origin. Asked once, when that begins. */
  wants(origin: TraceOrigin): boolean;
  ended(activity: Activity): void;
}

export interface RecorderOptions {
  readonly sinks: readonly ActivitySink[];
  /** What a worker is to be told; undefined: the caller's context, as it came. */
  readonly contextOf?:
    | ((origin: TraceOrigin, activityName: string) => Readonly<Record<string, string>>)
    | undefined;
  readonly observer: Observer;
}

/** One that needs to hear everything, and for which events are enough. */
export interface ActivityRecorder extends Required<Omit<Recorder, 'recorded'>> {
  recorded(key: SessionKey, events: readonly SessionEvent[]): void;
}

/**
 * Follows the log of each session that has not ended, and tells its sinks what ends in it. It holds as much as the
 * engine holds of the same sessions, and lets go of it with them.
 */
export function createRecorder({ sinks, contextOf, observer }: RecorderOptions): ActivityRecorder {
  /** By tenant, then by session. */
  const tenants = new Map<string, TransientMap<string, SessionActivities>>();
  let isBroken = false;

  const wants = (origin: TraceOrigin): boolean => sinks.some((sink) => sink.wants(origin));
  const ended = (activity: Activity): void => {
    for (const sink of sinks) sink.ended(activity);
  };

  const activitiesOf = (
    { tenant, sessionId }: SessionKey,
    first: SessionEvent | undefined,
  ): SessionActivities | undefined => {
    const known = tenants.get(tenant)?.get(sessionId);
    if (known !== undefined || first?.sequence !== 1) return known;
    const made = new SessionActivities({ tenant, wants });
    const sessions = tenants.get(tenant) ?? new TransientMap<string, SessionActivities>();
    tenants.set(tenant, sessions);
    sessions.set(sessionId, made);
    return made;
  };

  const drop = ({ tenant, sessionId }: SessionKey): void => tenants.get(tenant)?.delete(sessionId);

  /** Telemetry must not fail what it observes. A fault of its own is told once: it would come again with every event. */
  const guarded = (hear: () => void): void => {
    try {
      hear();
    } catch (error) {
      if (!isBroken) observer.report('error', 'telemetry_broken', { error: String(error) });
      isBroken = true;
    }
  };

  return {
    recorded(key, events) {
      guarded(() => {
        const activities = activitiesOf(key, events[0]);
        if (activities !== undefined) for (const event of events) activities.apply(event, ended);
      });
    },
    replayed(key, events) {
      guarded(() => {
        drop(key);
        const activities = activitiesOf(key, events[0]);
        if (activities !== undefined) for (const event of events) activities.apply(event, UNHEARD);
      });
    },
    dropped: drop,
    refused(request) {
      guarded(() => {
        const activity = refusalOf(request);
        for (const sink of sinks) if (sink.wants(activity.origin)) sink.ended(activity);
      });
    },
    contextOf({ tenant, sessionId }, originOf, activityName) {
      // What has been derived for an origin that is known is not derived again.
      const origin = tenants.get(tenant)?.get(sessionId)?.origin ?? originOf();
      return contextOf?.(origin, activityName) ?? origin.traceContext;
    },
  };
}

/** What had ended before this process began was told by the one that saw it end. */
const UNHEARD = (): void => undefined;
