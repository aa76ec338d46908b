import { randomUUID } from 'node:crypto';
import type { ToolCallRequested } from '../../gen/spindle/v1/event_pb.ts';
import type { Usage } from '../../gen/spindle/v1/message_pb.ts';
import type { ToolResult } from '../../gen/spindle/v1/result_pb.ts';
import type { ToolInput } from '../../gen/spindle/v1/tool_pb.ts';
import { activityName, type TraceOrigin } from '../core/activity.ts';
import { MAX_MOMENTS } from '../core/limits.ts';
import type { Instant, Millis } from '../core/time.ts';
import type { RefusedRequest } from '../engine/ports.ts';

/**
 * Something that lasted, as the events of a session tell it. Spans, measurements and the waterfall of `spindle
 * trace` are all made from it, so that they cannot disagree.
 */
export type Activity =
  | TurnActivity
  | IterationActivity
  | ModelActivity
  | CallActivity
  | AttemptActivity
  | RefusalActivity;

interface Lasting {
  /** activityName of core/activity.ts. */
  readonly name: string;
  /** The activity that it is part of; undefined where the trace enters the engine. */
  readonly parent: string | undefined;
  readonly origin: TraceOrigin;
  readonly sessionId: string;
  readonly startedAt: Instant;
  /** Undefined while it lasts. */
  endedAt: Instant | undefined;
  /** Undefined while it lasts. */
  end: ActivityEnd | undefined;
  readonly moments: Moment[];
}

/** How an activity ended. What a person stopped or denied is no failure (8.4). */
export type ActivityEnd =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'denied' };

/** Something that happened meanwhile: a retry, a wait, an approval. */
export interface Moment {
  readonly at: Instant;
  readonly name: MomentName;
  readonly facts: Readonly<Record<string, string | number>>;
}

export type MomentName =
  | 'attempt_failed'
  | 'requeued'
  | 'deferred'
  | 'interrupt_raised'
  | 'interrupt_resumed'
  | 'subagent_started'
  | 'decision_recorded'
  | 'decision_refused';

/** A span has room for so many; what a worker can repeat without end must not grow without end. */
export function addMoment({ moments }: Pick<Lasting, 'moments'>, moment: Moment): void {
  if (moments.length < MAX_MOMENTS) moments.push(moment);
}

export interface TurnActivity extends Lasting {
  readonly kind: 'turn';
  readonly turnId: string;
  readonly agentId: string;
  /** How long it had waited for the turn before it. */
  readonly queuedFor: Millis;
  usage: Usage | undefined;
}

export interface IterationActivity extends Lasting {
  readonly kind: 'iteration';
  readonly agentId: string;
  /** 1 for the first of its turn. */
  readonly iteration: number;
  /** When the last of its calls ended so far. */
  lastEndAt: Instant | undefined;
}

export interface ModelActivity extends Lasting {
  readonly kind: 'model';
  readonly callId: string;
  readonly agentId: string;
  readonly provider: string;
  readonly model: string;
  attempts: number;
  usage: Usage | undefined;
  finishReason: string | undefined;
  responseModel: string | undefined;
  responseId: string | undefined;
}

export interface CallActivity extends Lasting {
  readonly kind: 'call';
  readonly callId: string;
  readonly agentId: string;
  readonly toolName: string;
  /** Somebody declared the tool: only then is its name one of a bounded set. */
  isDeclared: boolean;
  readonly requested: ToolCallRequested;
  /** The newest verdict on its arguments. */
  input: ToolInput | undefined;
  attempts: number;
  /** How long it waited for a worker, over all its attempts (4.4). */
  queuedFor: Millis;
  /** When it waited for one, where that took any time. */
  readonly waits: { readonly from: Instant; readonly until: Instant }[];
  result: ToolResult | undefined;
}

export interface AttemptActivity extends Lasting {
  readonly kind: 'attempt';
  readonly callId: string;
  readonly toolName: string;
  readonly isDeclared: boolean;
  /** 1 for the first of its call. */
  readonly attempt: number;
  /** The worker that had it last, or the connector. */
  workerName: string;
  /** An MCP server has it, by way of a connector. */
  isConnector: boolean;
}

/** A request for a call that was refused: no call came of it, but somebody waited for one. */
export interface RefusalActivity extends Lasting {
  readonly kind: 'refusal';
  readonly callId: string;
  readonly toolName: string;
}

export function refusalOf({ tenant, toolName, callId, traceContext, reason, at }: RefusedRequest): Activity {
  const name = activityName.call(callId);
  return {
    kind: 'refusal',
    name,
    parent: undefined,
    // Somebody may be refused often in one instant: the draw keeps their spans apart.
    origin: { name: `${tenant}\nrefused ${at} ${randomUUID()}`, traceContext },
    sessionId: '',
    startedAt: at,
    endedAt: at,
    end: { kind: 'failed', code: reason, message: '' },
    moments: [],
    callId,
    toolName,
  };
}
