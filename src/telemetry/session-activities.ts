import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import { originOfCall, originOfTurn, type TraceOrigin } from '../core/activity.ts';
import { type Instant, instantOf } from '../core/time.ts';
import type { Activity } from './activity.ts';
import { advanceCall, type CallPlace, holdBack, type OpenCall, openCall } from './call-activities.ts';
import { advanceTurn, callOfTurnEnded, type OpenTurn, openTurn, parentIn } from './turn-activities.ts';

export interface SessionActivitiesOptions {
  readonly tenant: string;
  /** Whether anybody wants what happens under an origin; nothing is kept of the others. */
  readonly wants: (origin: TraceOrigin) => boolean;
}

/** What lasts in one session, as far as its log has been heard. The log from its start, or nothing, has to be heard. */
export interface SessionActivities {
  /** Takes the next event, and tells what ended with it. */
  apply(event: SessionEvent, ended: (activity: Activity) => void): void;
  /** What has not ended. */
  open(): Activity[];
}

interface QueuedTurn {
  readonly at: Instant;
  readonly traceContext: TraceOrigin['traceContext'];
}

export function createSessionActivities(options: SessionActivitiesOptions): SessionActivities {
  const calls = new Map<string, OpenCall>();
  const turns = new Map<string, OpenTurn>();
  const queued = new Map<string, QueuedTurn>();
  let agentId = '';

  const placeOf = (event: SessionEvent, at: Instant): CallPlace | undefined => {
    const { sessionId, turnId, journal } = event;
    const turn = turns.get(turnId);
    if (turn !== undefined)
      return { origin: turn.activity.origin, parent: parentIn(turn), sessionId, agentId };
    // A call of a turn that nobody wants.
    if (turnId !== '') return undefined;
    const key = { tenant: options.tenant, sessionId };
    const origin = originOfCall(key, at, journal?.traceContext ?? {});
    return options.wants(origin) ? { origin, parent: undefined, sessionId, agentId } : undefined;
  };

  const startTurn = (event: SessionEvent, at: Instant): void => {
    const { sessionId, turnId, journal } = event;
    const waited = queued.get(turnId);
    queued.delete(turnId);
    const own = journal?.traceContext ?? {};
    const traceContext = Object.keys(own).length > 0 ? own : (waited?.traceContext ?? {});
    const origin = originOfTurn({ tenant: options.tenant, sessionId }, turnId, traceContext);
    if (!options.wants(origin)) return;
    const queuedFor = waited === undefined ? 0 : Math.max(at - waited.at, 0);
    turns.set(turnId, openTurn(turnId, at, { origin, sessionId, agentId, queuedFor }));
  };

  return {
    apply(event, ended) {
      const { kind, turnId } = event;
      const at = event.occurredAt === undefined ? 0 : instantOf(event.occurredAt);
      switch (kind.case) {
        case 'sessionCreated':
          agentId = kind.value.agentId;
          return;
        case 'turnQueued':
          queued.set(turnId, { at, traceContext: event.journal?.traceContext ?? {} });
          return;
        case 'turnStarted':
          startTurn(event, at);
          return;
        case 'toolCallRequested': {
          const place = placeOf(event, at);
          if (place === undefined) return;
          calls.set(kind.value.callId, openCall(kind.value, at, place));
          if (turnId !== '') holdBack(calls.values(), at);
          return;
        }
        default: {
          const call = calls.get(callIdOf(kind));
          const turn = turns.get(turnId);
          if (call !== undefined) {
            if (!advanceCall(call, kind, at, ended)) return;
            calls.delete(call.activity.callId);
            if (turn !== undefined) callOfTurnEnded(turn, at);
            if (turnId !== '') holdBack(calls.values(), at);
            return;
          }
          // A queued turn that is cancelled ends without having started.
          if (kind.case === 'turnEnded') queued.delete(turnId);
          if (turn !== undefined && advanceTurn(turn, kind, at, ended)) turns.delete(turnId);
        }
      }
    },
    open() {
      const running = [...turns.values()].flatMap(({ activity, iteration, model }) => [
        activity,
        ...(iteration === undefined ? [] : [iteration]),
        ...(model === undefined ? [] : [model]),
      ]);
      const ofCalls = [...calls.values()].flatMap(({ activity, attempt }) =>
        attempt === undefined || attempt.endedAt !== undefined ? [activity] : [activity, attempt],
      );
      return [...running, ...ofCalls];
    },
  };
}

function callIdOf({ value }: SessionEvent['kind']): string {
  return value !== undefined && 'callId' in value ? value.callId : '';
}
