import { create } from '@bufbuild/protobuf';
import { TurnEndedSchema, TurnQueuedSchema, TurnStartedSchema } from '../../../gen/spindle/v1/event_pb.ts';
import { ChatMessageSchema } from '../../../gen/spindle/v1/message_pb.ts';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import { TurnFinishedSchema, type TurnInput } from '../../../gen/spindle/v1/trigger_pb.ts';
import { afterDispatch, because, finish } from '../attempt.ts';
import type { CancelTurn, StartTurn } from '../command.ts';
import { type Draft, journalData } from '../event.ts';
import { MAX_QUEUED_TURNS, MAX_SESSION_MESSAGES } from '../limits.ts';
import { refused } from '../refusal.ts';
import { happened, NOTHING, type Ruling, refuse } from '../ruling.ts';
import type { Session } from '../session.ts';
import type { Conversation, QueuedTurn } from './conversation.ts';
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
  const fault = inputFault(conversation, input);
  if (fault !== undefined) return refuse(refused('invalid_request', fault).refusal);
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

/** What keeps messages out of a conversation that could not be said before it is there. */
function inputFault({ messages, queue }: Conversation, input: TurnInput | undefined): string | undefined {
  if (input?.kind.case !== 'messages') return undefined;
  const given = input.kind.value.messages;
  if (messages.length + given.length > MAX_SESSION_MESSAGES)
    return `the conversation would have more than ${MAX_SESSION_MESSAGES} messages; start another session`;
  const ids = new Set(messages.map(({ id }) => id));
  for (const { input: other } of queue) {
    if (other?.kind.case === 'messages') for (const { id } of other.kind.value.messages) ids.add(id);
  }
  for (const [index, { id }] of given.entries()) {
    if (id !== '' && ids.has(id))
      return `input.messages[${index}].id is that of another message; leave it out, or use a new one`;
    ids.add(id);
  }
  return undefined;
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
  const why = because(reason);
  return [...calls.values()]
    .filter(({ phase }) => phase.kind !== 'finished')
    .map((call) =>
      finish(call, { error: afterDispatch(call, 'cancelled', `${call.name} was cancelled${why}`) }),
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
