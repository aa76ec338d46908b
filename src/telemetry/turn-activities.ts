import type {
  ModelCallFinished,
  ModelCallRequested,
  SessionEvent,
  TurnEnded,
} from '../../gen/spindle/v1/event_pb.ts';
import { FinishReason } from '../../gen/spindle/v1/trigger_pb.ts';
import { activityName, type TraceOrigin } from '../core/activity.ts';
import { type Instant, type Millis, millisOf } from '../core/time.ts';
import {
  type Activity,
  type ActivityEnd,
  addMoment,
  type IterationActivity,
  type ModelActivity,
  type TurnActivity,
} from './activity.ts';
import { endOfFailure } from './call-activities.ts';

/** A turn that has not ended, with its iteration and its model call. */
export interface OpenTurn {
  readonly activity: TurnActivity;
  iteration: IterationActivity | undefined;
  model: ModelActivity | undefined;
}

export interface TurnPlace {
  readonly origin: TraceOrigin;
  readonly sessionId: string;
  readonly agentId: string;
  readonly queuedFor: Millis;
}

export function openTurn(turnId: string, at: Instant, place: TurnPlace): OpenTurn {
  const activity: TurnActivity = {
    kind: 'turn',
    name: activityName.turn(turnId),
    parent: undefined,
    startedAt: at,
    endedAt: undefined,
    end: undefined,
    moments: [],
    turnId,
    usage: undefined,
    ...place,
  };
  return { activity, iteration: undefined, model: undefined };
}

/** What a call of the turn is part of now. */
export function parentIn({ activity, iteration }: OpenTurn): string {
  return iteration?.name ?? activity.name;
}

/** An iteration lasts until the last of its calls has ended. */
export function callOfTurnEnded({ iteration }: OpenTurn, at: Instant): void {
  if (iteration !== undefined) iteration.lastEndAt = at;
}

/** Takes an event of the turn that is about none of its tool calls; true once the turn has ended. */
export function advanceTurn(
  turn: OpenTurn,
  kind: SessionEvent['kind'],
  at: Instant,
  ended: (activity: Activity) => void,
): boolean {
  const { activity } = turn;
  switch (kind.case) {
    case 'iterationStarted':
      endIteration(turn, { kind: 'succeeded' }, at, ended);
      turn.iteration = openIteration(activity, kind.value.iteration, at);
      return false;
    case 'modelCallRequested':
      turn.model = openModelCall(turn, kind.value, at);
      return false;
    case 'modelCallAttemptFailed': {
      const { callId, attempt, error, backoff } = kind.value;
      const backoffMs = backoff === undefined ? 0 : millisOf(backoff);
      const facts = { attempt, code: error?.code ?? '', backoffMs };
      if (turn.model?.callId === callId) addMoment(turn.model, { at, name: 'attempt_failed', facts });
      return false;
    }
    case 'modelCallFinished':
      if (turn.model?.callId === kind.value.callId) endModelCall(turn, kind.value, at, ended);
      return false;
    case 'interruptRaised':
      addMoment(activity, { at, name: 'interrupt_raised', facts: { interruptId: kind.value.interruptId } });
      return false;
    case 'interruptResumed':
      addMoment(activity, {
        at,
        name: 'interrupt_resumed',
        facts: { interruptId: kind.value.interruptId },
      });
      return false;
    case 'decisionRecorded':
      // The engine's own decisions are the turn itself.
      if (kind.value.workerName !== '') {
        const facts = { workerName: kind.value.workerName };
        addMoment(activity, { at, name: 'decision_recorded', facts });
      }
      return false;
    case 'decisionRefused':
      addMoment(activity, { at, name: 'decision_refused', facts: {} });
      return false;
    case 'turnEnded':
      endTurn(turn, kind.value, at, ended);
      return true;
    default:
      return false;
  }
}

function openIteration(turn: TurnActivity, iteration: number, at: Instant): IterationActivity {
  const { turnId, origin, sessionId, agentId } = turn;
  return {
    kind: 'iteration',
    name: activityName.iteration(turnId, iteration),
    parent: turn.name,
    origin,
    sessionId,
    agentId,
    startedAt: at,
    endedAt: undefined,
    end: undefined,
    moments: [],
    iteration,
    lastEndAt: undefined,
  };
}

function openModelCall(turn: OpenTurn, value: ModelCallRequested, at: Instant): ModelActivity {
  const { origin, sessionId, agentId } = turn.activity;
  const slash = value.model.indexOf('/');
  return {
    kind: 'model',
    name: activityName.modelCall(value.callId),
    parent: parentIn(turn),
    origin,
    sessionId,
    agentId,
    startedAt: at,
    endedAt: undefined,
    end: undefined,
    moments: [],
    callId: value.callId,
    provider: slash < 0 ? '' : value.model.slice(0, slash),
    model: value.model.slice(slash + 1),
    attempts: 0,
    usage: undefined,
    finishReason: undefined,
    responseModel: undefined,
    responseId: undefined,
  };
}

function endModelCall(
  turn: OpenTurn,
  { attempts, outcome }: ModelCallFinished,
  at: Instant,
  ended: (activity: Activity) => void,
): void {
  const { model } = turn;
  if (model === undefined) return;
  turn.model = undefined;
  model.attempts = attempts;
  if (outcome.case === 'response') {
    const { usage, finishReason, responseModel, responseId } = outcome.value;
    model.usage = usage;
    model.finishReason = FINISH_REASONS[finishReason];
    model.responseModel = responseModel === '' ? undefined : responseModel;
    model.responseId = responseId === '' ? undefined : responseId;
  }
  close(model, outcome.case === 'error' ? endOfFailure(outcome.value) : { kind: 'succeeded' }, at, ended);
  callOfTurnEnded(turn, at);
}

/** As the conventions and the providers spell them. */
const FINISH_REASONS: Readonly<Partial<Record<FinishReason, string>>> = {
  [FinishReason.STOP]: 'stop',
  [FinishReason.TOOL_CALLS]: 'tool_calls',
  [FinishReason.LENGTH]: 'length',
  [FinishReason.CONTENT_FILTER]: 'content_filter',
  [FinishReason.OTHER]: 'other',
};

function endIteration(
  turn: OpenTurn,
  end: ActivityEnd,
  at: Instant,
  ended: (activity: Activity) => void,
): void {
  const { iteration } = turn;
  turn.iteration = undefined;
  if (iteration !== undefined) close(iteration, end, iteration.lastEndAt ?? at, ended);
}

function endTurn(
  turn: OpenTurn,
  { outcome }: TurnEnded,
  at: Instant,
  ended: (activity: Activity) => void,
): void {
  const end = endOfTurn(outcome);
  // A model call that a cancelled turn leaves behind has no event of its own.
  if (turn.model !== undefined) close(turn.model, end, at, ended);
  turn.model = undefined;
  endIteration(turn, end.kind === 'cancelled' ? end : { kind: 'succeeded' }, at, ended);
  if (outcome.case === 'finished') turn.activity.usage = outcome.value.usage;
  close(turn.activity, end, at, ended);
}

function endOfTurn(outcome: TurnEnded['outcome']): ActivityEnd {
  switch (outcome.case) {
    case 'failed':
      return endOfFailure(outcome.value);
    case 'cancelledReason':
      return { kind: 'cancelled' };
    default:
      return { kind: 'succeeded' };
  }
}

function close(activity: Activity, end: ActivityEnd, at: Instant, ended: (activity: Activity) => void): void {
  activity.end = end;
  activity.endedAt = at;
  ended(activity);
}
