import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import { type Instant, instantOf, type Millis } from '../core/time.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Activity, CallActivity } from './activity.ts';
import { SessionActivities } from './session-activities.ts';

/** A line of a waterfall: an activity, or a wait within one. */
export interface WaterfallRow {
  readonly depth: number;
  /** What it is: `execute_tool weather`, say. */
  readonly label: string;
  /** What more is worth saying: the worker, the attempt, tokens. */
  readonly note: string;
  readonly kind: Activity['kind'] | 'wait';
  readonly from: Instant;
  /** Undefined while it lasts. */
  readonly until: Instant | undefined;
  /** Undefined while it lasts, and for a wait. */
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | 'denied' | undefined;
  /** The code of a failure. */
  readonly code: string | undefined;
}

export interface Waterfall {
  readonly from: Instant;
  readonly until: Instant;
  readonly rows: readonly WaterfallRow[];
}

/**
 * What the events of a session, or of a direct call, come to, in the order in which it began, each thing under what
 * it is part of. Undefined where there is nothing to draw.
 *
 * @param turnId only this turn; empty: all
 */
export function waterfallOf(events: readonly SessionEvent[], turnId = ''): Waterfall | undefined {
  const activities = new SessionActivities({ tenant: '', wants: () => true });
  const ended: Activity[] = [];
  for (const event of events) {
    if (turnId === '' || event.turnId === turnId || event.kind.case === 'sessionCreated')
      activities.apply(event, (activity) => ended.push(activity));
  }
  const all = [...ended, ...activities.open()].toSorted((a, b) => a.startedAt - b.startedAt);
  const children = Map.groupBy(all, ({ parent }) => parent);
  const rows: WaterfallRow[] = [];
  const draw = (activity: Activity, depth: number): void => {
    rows.push(rowOf(activity, depth));
    const waits = activity.kind === 'call' ? waitsOf(activity, depth + 1) : [];
    const parts = [...(children.get(activity.name) ?? [])];
    // Waits and parts in the order in which they began.
    for (const wait of waits) {
      while (parts[0] !== undefined && parts[0].startedAt < wait.from)
        draw(parts.splice(0, 1)[0] ?? parts[0], depth + 1);
      rows.push(wait);
    }
    for (const part of parts) draw(part, depth + 1);
  };
  for (const root of children.get(undefined) ?? []) draw(root, 0);
  const [first] = rows;
  if (first === undefined) return undefined;
  const newest = events.at(-1)?.occurredAt;
  const ends = rows.flatMap(({ from, until }) => [from, until ?? from]);
  const until = Math.max(...ends, newest === undefined ? first.from : instantOf(newest));
  return { from: first.from, until, rows };
}

function rowOf(activity: Activity, depth: number): WaterfallRow {
  const { end } = activity;
  return {
    depth,
    label: labelOf(activity),
    note: noteOf(activity),
    kind: activity.kind,
    from: activity.startedAt,
    until: activity.endedAt,
    outcome: end?.kind,
    code: end?.kind === 'failed' ? end.code : undefined,
  };
}

function labelOf(activity: Activity): string {
  switch (activity.kind) {
    case 'turn':
      return activity.agentId === '' ? 'turn' : `turn of ${activity.agentId}`;
    case 'iteration':
      return `iteration ${activity.iteration}`;
    case 'model':
      return activity.provider === '' ? activity.model : `${activity.provider}/${activity.model}`;
    case 'call':
    case 'refusal':
      return activity.toolName;
    case 'attempt':
      return `attempt ${activity.attempt}`;
    default:
      return unreachable(activity);
  }
}

function noteOf(activity: Activity): string {
  switch (activity.kind) {
    case 'model': {
      const { usage, attempts } = activity;
      const tokens = usage === undefined ? [] : [`${usage.inputTokens} → ${usage.outputTokens} tokens`];
      return [...tokens, ...(attempts > 1 ? [`${attempts} attempts`] : [])].join(', ');
    }
    case 'attempt':
      return activity.workerName === '' ? '' : `on ${activity.workerName}`;
    case 'call':
      return activity.callId;
    case 'turn':
      return activity.turnId;
    default:
      return '';
  }
}

/** What a call waited for: a worker, its next attempt, a person. */
function waitsOf(call: CallActivity, depth: number): WaterfallRow[] {
  const row = (label: string, from: Instant, until: Instant | undefined, code?: string): WaterfallRow => ({
    depth,
    label,
    note: '',
    kind: 'wait',
    from,
    until,
    outcome: undefined,
    code,
  });
  const queued = call.waits.map(({ from, until }) => row('queued', from, until));
  const others = call.moments.flatMap(({ at, name, facts }) => {
    if (name === 'attempt_failed' && Number(facts['backoffMs']) > 0)
      return [
        row('backoff', at, earliest(at + Number(facts['backoffMs']), call.endedAt), String(facts['code'])),
      ];
    if (name === 'interrupt_raised') {
      const answered = call.moments.find((other) => other.name === 'interrupt_resumed' && other.at >= at);
      return [row('waits for a person', at, answered?.at ?? call.endedAt)];
    }
    return name === 'deferred' ? [row('deferred', at, call.endedAt)] : [];
  });
  return [...queued, ...others].toSorted((a, b) => a.from - b.from);
}

function earliest(at: Instant, end: Instant | undefined): Instant {
  return end === undefined ? at : Math.min(at, end);
}

/** How long a row took, or has taken until the newest event. */
export function lengthOf({ from, until }: WaterfallRow, { until: now }: Waterfall): Millis {
  return Math.max((until ?? now) - from, 0);
}
