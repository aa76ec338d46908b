import { create } from '@bufbuild/protobuf';
import { TurnEndedSchema, TurnQueuedSchema, TurnStartedSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { ChatMessageSchema } from '../../../gen/spindle/v1/message_pb.ts';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import { TurnFinishedSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { afterDispatch, finish } from '../attempt.ts';
import type { CancelTurn, StartTurn } from '../command.ts';
import { type Draft, journalData } from '../event.ts';
import { MAX_QUEUED_TURNS } from '../limits.ts';
import { refused } from '../refusal.ts';
import { happened, NOTHING, type Ruling, refuse } from '../ruling.ts';
import type { Session } from '../session.ts';
import type { QueuedTurn } from './conversation.ts';
import { type Story, tell } from './story.ts';

/**
 * Input of a client. It starts a turn, or waits behind the running one where it may (6.14). Ends of open client-side
 * calls that came with it have been settled by then.
 */
export function decideStart(session: Session, command: StartTurn): Ruling {
  const { conversation } = session;
  if (conversation === undefined) return refuse(NO_CONVERSATION);
  const { turnId, input, task, origin } = command;
  if (conversation.turns.has(turnId)) return NOTHING;
  if (conversation.turn === undefined && conversation.queue.length === 0)
    return happened(started(session, { turnId, input, task, origin }));
  if (!command.queue) {
    const running = conversation.turn?.turnId ?? '';
    const message = `turn ${running} is running; wait for its end, cancel it, or ask to queue this one`;
    return refuse(refused('turn_already_active', message, { turn_id: running }).refusal);
  }
  if (conversation.queue.length >= MAX_QUEUED_TURNS) {
    return refuse(
      refused('overloaded', `${MAX_QUEUED_TURNS} turns wait in this session, which is its limit`).refusal,
    );
  }
  const value = create(TurnQueuedSchema, { ...(input && { input }), ...(task && { task }) });
  return happened({ kind: { case: 'turnQueued', value }, journal: journalData(origin), turnId });
}

export function started({ conversation }: Session, { turnId, input, task, origin }: QueuedTurn): Draft {
  const contract = task ?? conversation?.agent?.task;
  const value = create(TurnStartedSchema, { ...(input && { input }), ...(contract && { task: contract }) });
  return { kind: { case: 'turnStarted', value }, journal: journalData(origin), turnId };
}

const NO_CONVERSATION = refused(
  'session_not_found',
  'this is a direct call; turns belong to sessions',
).refusal;

/** Stops a turn: every call of it that has not ended ends with `cancelled` (4.10). */
export function decideCancel(session: Session, { turnId, reason }: CancelTurn): Ruling {
  const { conversation } = session;
  if (conversation === undefined) return refuse(NO_CONVERSATION);
  const id = turnId === '' ? (conversation.turn?.turnId ?? '') : turnId;
  if (id === '') return NOTHING;
  const record = conversation.turns.get(id);
  if (record === undefined) {
    return refuse(
      refused('turn_not_found', `there is no turn ${id} in this session`, { turn_id: id }).refusal,
    );
  }
  if (record.ended !== undefined) return NOTHING;
  const value = create(TurnEndedSchema, { outcome: { case: 'cancelledReason', value: reason } });
  const ended: Draft = { kind: { case: 'turnEnded', value }, turnId: id };
  if (conversation.turn?.turnId !== id) return happened(ended);
  return happened(...cancelledCalls(session, reason), ended);
}

/** The ends of all calls that have none. */
function cancelledCalls({ calls }: Session, reason: string): Draft[] {
  const why = reason === '' ? '' : `: ${reason}`;
  return [...calls.values()]
    .filter(({ phase }) => phase.kind !== 'finished')
    .map((call) =>
      finish(call, { error: afterDispatch(call, 'cancelled', `${call.name} was cancelled${why}.`) }),
    );
}

/** The turn is over as its agent wanted. The answer is a message that is recorded already (7.5). */
export function endTurn(story: Story): Story {
  const turn = story.session.conversation?.turn;
  if (turn === undefined) return story;
  const { turnId, iterations, usage, answerId, finishing, conclusion } = turn;
  const finished = create(TurnFinishedSchema, {
    turnId,
    outputJson: finishing?.outputJson ?? conclusion?.outputJson ?? '',
    iterations,
    usage,
    ...(answerId === '' ? {} : { answer: create(ChatMessageSchema, { id: answerId }) }),
  });
  const value = create(TurnEndedSchema, { outcome: { case: 'finished', value: finished } });
  return tell(story, { kind: { case: 'turnEnded', value }, turnId });
}

/** The turn is over, and not as its agent wanted; what still runs is cancelled. */
export function failTurn(story: Story, failure: Failure): Story {
  const { turn } = story.session.conversation ?? {};
  if (turn === undefined) return story;
  const value = create(TurnEndedSchema, { outcome: { case: 'failed', value: failure } });
  return tell(tell(story, ...cancelledCalls(story.session, 'its turn has failed')), {
    kind: { case: 'turnEnded', value },
    turnId: turn.turnId,
  });
}
