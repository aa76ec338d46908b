import type { SessionEvent, ToolCallRequested } from '../../gen/spindle/v1/event_pb.ts';
import { originOfCall, originOfTurn, type TraceOrigin } from '../core/activity.ts';
import { type Instant, instantOf } from '../core/time.ts';
import type { Activity } from './activity.ts';
import { advanceCall, holdBack, type OpenCall, openCall } from './call-activities.ts';
import { advanceTurn, callOfTurnEnded, type OpenTurn, openTurn, parentIn } from './turn-activities.ts';

export interface SessionActivitiesOptions {
  readonly tenant: string;
  /** Whether anybody wants what happens under an origin; nothing is kept of the others. */
  readonly wants: (origin: TraceOrigin) => boolean;
}

interface QueuedTurn {
  readonly at: Instant;
  readonly traceContext: TraceOrigin['traceContext'];
}

/**
 * What lasts in one session, as far as its log has been heard: from its start, without a gap. There is one for each
 * call that runs, so what a direct call does not need is made when it is needed.
 */
export class SessionActivities {
  /** Of the direct call, or of the turn that began last. */
  origin: TraceOrigin | undefined;
  readonly #options: SessionActivitiesOptions;
  #direct: OpenCall | undefined;
  #calls: Map<string, OpenCall> | undefined;
  #turns: Map<string, OpenTurn> | undefined;
  #queued: Map<string, QueuedTurn> | undefined;
  #agentId = '';

  constructor(options: SessionActivitiesOptions) {
    this.#options = options;
  }

  /** Takes the next event, and tells what ended with it. */
  apply(event: SessionEvent, ended: (activity: Activity) => void): void {
    const { kind, turnId } = event;
    const at = event.occurredAt === undefined ? 0 : instantOf(event.occurredAt);
    switch (kind.case) {
      case 'sessionCreated':
        this.#agentId = kind.value.agentId;
        return;
      case 'turnQueued':
        this.#queued ??= new Map();
        this.#queued.set(turnId, { at, traceContext: event.journal?.traceContext ?? {} });
        return;
      case 'turnStarted':
        this.#startTurn(event, at);
        return;
      case 'toolCallRequested':
        if (turnId === '') this.#startDirectCall(event, kind.value, at);
        else this.#startCall(event, kind.value, at);
        return;
      default:
        if (this.#direct !== undefined) {
          if (advanceCall(this.#direct, event, at, ended)) this.#direct = undefined;
        } else this.#advance(event, at, ended);
    }
  }

  /** What has not ended. */
  open(): Activity[] {
    const ofTurns = [...(this.#turns?.values() ?? [])].flatMap(({ activity, iteration, model }) => [
      activity,
      ...(iteration === undefined ? [] : [iteration]),
      ...(model === undefined ? [] : [model]),
    ]);
    const calls = [
      ...(this.#direct === undefined ? [] : [this.#direct]),
      ...(this.#calls === undefined ? [] : this.#calls.values()),
    ];
    const ofCalls = calls.flatMap(({ activity, attempt }) =>
      attempt === undefined || attempt.endedAt !== undefined ? [activity] : [activity, attempt],
    );
    return [...ofTurns, ...ofCalls];
  }

  #startDirectCall({ sessionId, journal }: SessionEvent, requested: ToolCallRequested, at: Instant): void {
    const { tenant, wants } = this.#options;
    const origin = originOfCall({ tenant, sessionId }, at, journal?.traceContext ?? NO_CONTEXT);
    this.origin = origin;
    if (!wants(origin)) return;
    this.#direct = openCall(requested, at, { origin, parent: undefined, sessionId, agentId: '' });
  }

  #startTurn({ sessionId, turnId, journal }: SessionEvent, at: Instant): void {
    const { tenant, wants } = this.#options;
    const waited = this.#queued?.get(turnId);
    this.#queued?.delete(turnId);
    const own = journal?.traceContext ?? NO_CONTEXT;
    const traceContext = Object.keys(own).length > 0 ? own : (waited?.traceContext ?? NO_CONTEXT);
    const origin = originOfTurn({ tenant, sessionId }, turnId, traceContext);
    this.origin = origin;
    if (!wants(origin)) return;
    const queuedFor = waited === undefined ? 0 : Math.max(at - waited.at, 0);
    this.#turns ??= new Map();
    this.#turns.set(turnId, openTurn(turnId, at, { origin, sessionId, agentId: this.#agentId, queuedFor }));
  }

  #startCall({ sessionId, turnId }: SessionEvent, requested: ToolCallRequested, at: Instant): void {
    const turn = this.#turns?.get(turnId);
    // A call of a turn that nobody wants.
    if (turn === undefined) return;
    const { origin } = turn.activity;
    const place = { origin, parent: parentIn(turn), sessionId, agentId: this.#agentId };
    this.#calls ??= new Map();
    this.#calls.set(requested.callId, openCall(requested, at, place));
    holdBack(this.#calls.values(), at);
  }

  #advance(event: SessionEvent, at: Instant, ended: (activity: Activity) => void): void {
    const { kind, turnId } = event;
    const turn = this.#turns?.get(turnId);
    const call = this.#calls?.get(callIdOf(kind));
    if (call !== undefined) {
      if (!advanceCall(call, event, at, ended)) return;
      this.#calls?.delete(call.activity.callId);
      if (turn !== undefined) callOfTurnEnded(turn, at);
      holdBack(this.#calls?.values() ?? [], at);
      return;
    }
    // A queued turn that is cancelled ends without having started.
    if (kind.case === 'turnEnded') this.#queued?.delete(turnId);
    if (turn !== undefined && advanceTurn(turn, kind, at, ended)) this.#turns?.delete(turnId);
  }
}

const NO_CONTEXT: TraceOrigin['traceContext'] = {};

function callIdOf({ value }: SessionEvent['kind']): string {
  return value !== undefined && 'callId' in value ? value.callId : '';
}
