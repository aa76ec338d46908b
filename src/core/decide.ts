import { create } from '@bufbuild/protobuf';
import { type SessionEvent, ToolCallCheckpointedSchema } from '../../gen/spindle/v1/event_pb.ts';
import { decideAnswer } from './answer.ts';
import { afterDispatch, because, finish } from './attempt.ts';
import { totalDeadline } from './call.ts';
import type { Command, WorkerAnswer } from './command.ts';
import { about, record } from './event.ts';
import { evolve } from './evolve.ts';
import { leaseOf, lost, place, returned } from './lease.ts';
import { advance, type Deciders, NO_DECIDERS } from './loop/advance.ts';
import { decideAmended } from './loop/amend.ts';
import { decideConversation } from './loop/decide-conversation.ts';
import { decideResume, ownInterruptId } from './loop/interrupts.ts';
import { begin, tell } from './loop/story.ts';
import { expireConversation } from './loop/timers.ts';
import { refused } from './refusal.ts';
import { decideRequest } from './request.ts';
import { type AnswerRuling, happened, NOTHING, type Ruling, refuse, stale, told } from './ruling.ts';
import { type Session, timeIn } from './session.ts';
import { decideSettle } from './settle.ts';
import { expire, isOver } from './timers.ts';

/** What a command leads to: events for the log, or the reason why not. */
export type Decided =
  | {
      readonly kind: 'accepted';
      readonly events: readonly SessionEvent[];
      /** As it is after them. */
      readonly session: Session;
      readonly answer: AnswerRuling | undefined;
    }
  | Extract<Ruling, { kind: 'refused' }>;

/** What may happen (docs/architecture.md, "The core"). A function of its arguments alone. */
export function decide(session: Session, command: Command, deciders: Deciders = NO_DECIDERS): Decided {
  const at = timeIn(session, command.at);
  const ruling = rule(session, at === command.at ? command : { ...command, at });
  if (ruling.kind === 'refused') return ruling;
  const { drafts, answer } = ruling;
  if (session.conversation === undefined && command.kind !== 'create') {
    const events = record(session, at, drafts);
    return { kind: 'accepted', events, session: events.reduce(evolve, session), answer };
  }
  const story = advance(ruling.story ?? tell(begin(session, at), ...drafts), deciders);
  return { kind: 'accepted', events: story.events, session: story.session, answer };
}

function rule(session: Session, command: Command): Ruling {
  switch (command.kind) {
    case 'request':
      return decideRequest(session, command);
    case 'place': {
      const call = session.calls.get(command.callId);
      if (call?.phase.kind !== 'waiting' || call.phase.from > command.at) return NOTHING;
      // A tick is due, and will end the call: work that began now could only be given up.
      if (isOver(totalDeadline(call), command.at)) return NOTHING;
      return happened(place(call, command.placement, command.at));
    }
    case 'answer': {
      const held = leaseOf(session, command.leaseToken);
      if (held === undefined) return stale('no such dispatch is known');
      const own = { ...command, answer: ownAnswer(session, command.answer) };
      return command.amendment === undefined
        ? decideAnswer(held.call, held.lease, own)
        : decideAmended(session, held, own, command.amendment);
    }
    case 'reject':
      return returned(session, command, 'rejected');
    case 'lose':
      return command.how === 'lost' ? lost(session, command) : returned(session, command, command.how);
    case 'checkpoint': {
      const held = leaseOf(session, command.leaseToken);
      if (held?.lease.state.kind !== 'running') return NOTHING;
      const { callId, attempt } = held.call;
      const value = create(ToolCallCheckpointedSchema, { callId, attempt, checkpoint: command.checkpoint });
      return happened({ kind: { case: 'toolCallCheckpointed', value }, journal: about(held.lease) });
    }
    case 'settle':
      return decideSettle(session, command);
    case 'cancel': {
      const call = session.calls.get(command.callId);
      if (call === undefined) return refuse(refused('call_not_found', `no call ${command.callId}`).refusal);
      if (call.phase.kind === 'finished') return NOTHING;
      return happened(
        finish(call, {
          error: afterDispatch(call, 'cancelled', `${call.name} was cancelled${because(command.reason)}`),
        }),
      );
    }
    case 'resume':
      return decideResume(session, command);
    case 'disown': {
      const call = session.calls.get(command.callId);
      return call?.phase.kind === 'waiting' ? happened(finish(call, { error: command.failure })) : NOTHING;
    }
    case 'tick':
      return session.conversation === undefined
        ? happened(...[...session.calls.values()].flatMap((call) => expire(call, command) ?? []))
        : told(expireConversation(session, command));
    default:
      return decideConversation(session, command);
  }
}

/** The answer under an interrupt id that is good once. */
function ownAnswer(session: Session, answer: WorkerAnswer): WorkerAnswer {
  return answer.kind === 'interrupt'
    ? { ...answer, interruptId: ownInterruptId(session, answer.interruptId) }
    : answer;
}
