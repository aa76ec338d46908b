import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { ChatMessageSchema } from '../../../gen/spindle/v1/message_pb.ts';
import { type Trigger, TriggerSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import type { Session } from '../session.ts';
import { unreachable } from '../unreachable.ts';
import type { PendingTrigger } from './conversation.ts';

type Kind = NonNullable<MessageInitShape<typeof TriggerSchema>['kind']>;

/** A trigger as a worker is told of it. */
export function triggerMessage(session: Session, pending: PendingTrigger): Trigger {
  return create(TriggerSchema, { kind: kindOf(session, pending) });
}

function kindOf({ conversation, calls }: Session, { cause }: PendingTrigger): Kind {
  const turn = conversation?.turn;
  switch (cause.kind) {
    case 'session.start':
      return { case: 'sessionStart', value: {} };
    case 'client.messages':
      return turn?.input?.kind.case === 'messages'
        ? { case: 'clientMessages', value: turn.input.kind.value }
        : { case: 'clientMessages', value: {} };
    case 'client.action':
      return turn?.input?.kind.case === 'action'
        ? { case: 'clientAction', value: turn.input.kind.value }
        : { case: 'clientAction', value: {} };
    case 'tool.finished': {
      const call = calls.get(cause.callId);
      const end = call?.phase.kind === 'finished' ? call.phase.end : undefined;
      const value = { callId: cause.callId, name: call?.name ?? '', attempts: end?.attempts ?? 0 };
      return { case: 'toolFinished', value: end === undefined ? value : { ...value, outcome: end.outcome } };
    }
    case 'model.finished':
      return { case: 'modelFinished', value: { callId: cause.end.callId, outcome: cause.end.outcome } };
    case 'subagent.finished': {
      const call = calls.get(cause.callId);
      const end = call?.phase.kind === 'finished' ? call.phase.end : undefined;
      const sessionId = conversation?.children.get(cause.callId) ?? '';
      const value = { callId: cause.callId, sessionId, agentId: call?.name ?? '' };
      return {
        case: 'subagentFinished',
        value: end === undefined ? value : { ...value, outcome: end.outcome },
      };
    }
    case 'interrupt.resumed': {
      const interrupt = conversation?.interrupts.get(cause.interruptId);
      const { interruptId } = cause;
      const callId = interrupt?.callId ?? '';
      if (interrupt?.state.kind !== 'answered')
        return { case: 'interruptResumed', value: { interruptId, callId } };
      const { payloadJson, denyReason } = interrupt.state;
      const value = { interruptId, callId, payloadJson };
      return { case: 'interruptResumed', value: denyReason === undefined ? value : { ...value, denyReason } };
    }
    case 'turn.finished': {
      const answer = conversation?.messages.findLast(({ id }) => id === turn?.answerId);
      const value = {
        turnId: turn?.turnId ?? '',
        outputJson: turn?.finishing?.outputJson ?? '',
        iterations: turn?.iterations ?? 0,
        ...(turn === undefined ? {} : { usage: turn.usage }),
      };
      return {
        case: 'turnFinished',
        value: answer === undefined ? value : { ...value, answer: create(ChatMessageSchema, answer) },
      };
    }
    default:
      return unreachable(cause);
  }
}
