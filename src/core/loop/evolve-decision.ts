import type { DecisionRecorded, SessionEvent } from '../../../gen/spindle/v1/event_pb.ts';
import { type Conversation, pausing, type Turn } from './conversation.ts';
import { callsIn, messageOfModelCall } from './messages.ts';
import { trigger } from './pending-triggers.ts';

/** A decision: what it started is planned, and the next trigger may be decided. */
export function decided(
  before: Conversation,
  { actions }: DecisionRecorded,
  event: SessionEvent,
): Conversation {
  const after = { ...before, triggers: before.triggers.slice(1) };
  if (before.turn === undefined) return after;
  // What `done` said holds until turn.finished is decided, unless that decision goes on.
  const goesOn =
    before.triggers[0]?.cause.kind === 'turn.finished' &&
    (actions.length > 0 || pausing(before) !== undefined);
  let turn: Turn = goesOn ? { ...before.turn, finishing: undefined } : before.turn;
  let finished = false;
  for (const { kind } of actions) {
    switch (kind.case) {
      case 'modelCall':
        turn = { ...turn, nextModelCall: kind.value, conclusion: undefined };
        break;
      case 'toolCall': {
        const { callId, name, retry } = kind.value;
        const place = { callId, messageId: messageOf(before, callId), isModels: isModels(before, callId) };
        turn = {
          ...turn,
          plan: [...turn.plan, { ...place, name, retry, spawn: undefined, state: 'planned' }],
        };
        break;
      }
      case 'subagentSpawn': {
        const { callId, agentId: name } = kind.value;
        const place = { callId, messageId: messageOf(before, callId), isModels: false };
        const spawn = kind.value;
        turn = {
          ...turn,
          plan: [...turn.plan, { ...place, name, retry: undefined, spawn, state: 'planned' }],
        };
        break;
      }
      case 'done':
        turn = {
          ...turn,
          finishing: { outputJson: kind.value.outputJson },
          model: undefined,
          plan: turn.plan.filter(({ state }) => state !== 'planned'),
        };
        finished = true;
        break;
      default:
    }
  }
  const isNew = finished && !after.triggers.some(({ cause }) => cause.kind === 'turn.finished');
  return isNew ? trigger({ ...after, turn }, { kind: 'turn.finished' }, event) : { ...after, turn };
}

/** Whether the response that is decided holds a call. */
function isModels({ triggers: [first] }: Conversation, callId: string): boolean {
  if (first?.cause.kind !== 'model.finished') return false;
  const message = messageOfModelCall(first.cause.end);
  return message !== undefined && callsIn(message).some((call) => call.callId === callId);
}

/** The newest message that holds a call. */
function messageOf({ messages }: Conversation, callId: string): string {
  return messages.findLast((message) => callsIn(message).some((call) => call.callId === callId))?.id ?? '';
}
