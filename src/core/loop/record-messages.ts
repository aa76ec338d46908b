import { create, equals } from '@bufbuild/protobuf';
import {
  type Action,
  ActionSchema,
  type Decision,
  DecisionSchema,
  SubagentSpawnActionSchema,
  ToolCallActionSchema,
} from '../../../gen/spindle/v1/action_pb.ts';
import { MessageRecordedSchema } from '../../../gen/spindle/v1/event_pb.ts';
import {
  type ChatMessage,
  ChatMessageSchema,
  type Part,
  PartSchema,
  Role,
  ToolCallPartSchema,
} from '../../../gen/spindle/v1/message_pb.ts';
import type { Session } from '../session.ts';
import type { PendingTrigger } from './conversation.ts';
import { callsIn, messageOfCall, messageOfModelCall, resultsIn, textOf } from './messages.ts';
import { type Story, tell } from './story.ts';

/** Records messages. What another event holds already is recorded by reference: a response is kept once (7.5). */
export function recordMessages(
  story: Story,
  trigger: PendingTrigger,
  messages: readonly ChatMessage[],
): Story {
  return messages.reduce((before, given) => {
    const id = given.id === '' ? freeId(before) : given.id;
    const ofCallId = sourceOf(before.session, trigger, given);
    const message = ofCallId === '' ? { ...given, id } : create(ChatMessageSchema, { id, role: given.role });
    const value = create(MessageRecordedSchema, { message, ofCallId });
    return tell(before, { kind: { case: 'messageRecorded', value } });
  }, story);
}

/** Somebody may have called a message of theirs as the next one of ours. */
function freeId({ session: { conversation, sequence } }: Story): string {
  let id = `message-${sequence + 1}`;
  while (conversation?.messages.some((message) => message.id === id)) id = `${id}.1`;
  return id;
}

/** The call whose record says what a message says; empty where none does. */
function sourceOf({ calls }: Session, { cause }: PendingTrigger, message: ChatMessage): string {
  if (cause.kind === 'model.finished') {
    const response = messageOfModelCall(cause.end);
    return response !== undefined && isSame(response, message) ? cause.end.callId : '';
  }
  const [result] = resultsIn(message);
  const call = result && calls.get(result.callId);
  if (call?.phase.kind !== 'finished') return '';
  return isSame(messageOfCall(call, call.phase.end), message) ? call.callId : '';
}

function isSame(a: ChatMessage, b: ChatMessage): boolean {
  return a.role === b.role && equals(ChatMessageSchema, { ...a, id: '' }, { ...b, id: '' });
}

/**
 * The decision with a message for every call that it starts (6.16), and what the call says and what the message
 * says made one: the message is the record of the arguments.
 */
export function withCallsHeld(session: Session, { decisionId }: PendingTrigger, given: Decision): Decision {
  if (!given.actions.some(({ kind }) => kind.case === 'toolCall' || kind.case === 'subagentSpawn'))
    return given;
  const actions = given.actions.map((action, index) => named(action, `${decisionId}.${index + 1}`));
  const held = new Set(
    [...(session.conversation?.messages ?? []), ...given.messages]
      .flatMap(callsIn)
      .map(({ callId }) => callId),
  );
  const wanted = new Map<string, Wanted>();
  for (const { kind } of actions) {
    if (kind.case === 'toolCall')
      wanted.set(kind.value.callId, { name: kind.value.name, text: kind.value.arguments });
    if (kind.case === 'subagentSpawn') {
      const { callId, agentId, message } = kind.value;
      const text = JSON.stringify({ message: message === undefined ? '' : textOf(message) });
      wanted.set(callId, { name: agentId, text: held.has(callId) ? '' : text });
    }
  }
  const messages = given.messages.map((message) => amended(message, wanted));
  const missing = [...wanted].filter(([callId]) => !held.has(callId) && !session.calls.has(callId));
  if (missing.length > 0) {
    const parts = missing.map(([callId, { name, text }]) => callPart(callId, name, text));
    messages.push(create(ChatMessageSchema, { role: Role.ASSISTANT, parts }));
  }
  return create(DecisionSchema, {
    ...given,
    messages,
    actions: actions.map((action) => filled(action, messages)),
  });
}

/** What an action says about its call; empty says nothing. */
interface Wanted {
  readonly name: string;
  readonly text: string;
}

/** An action that names its call alone gets the name of its tool from the message. */
function filled(action: Action, messages: readonly ChatMessage[]): Action {
  const { kind } = action;
  if (kind.case !== 'toolCall' || kind.value.name !== '') return action;
  const name = messages.flatMap(callsIn).find(({ callId }) => callId === kind.value.callId)?.name ?? '';
  const value = create(ToolCallActionSchema, { ...kind.value, name });
  return create(ActionSchema, { kind: { case: 'toolCall', value } });
}

/** The action with an id for its call. */
function named(action: Action, callId: string): Action {
  const { kind } = action;
  if (kind.case === 'toolCall' && kind.value.callId === '') {
    const value = create(ToolCallActionSchema, { ...kind.value, callId });
    return create(ActionSchema, { kind: { case: 'toolCall', value } });
  }
  if (kind.case === 'subagentSpawn' && kind.value.callId === '') {
    const value = create(SubagentSpawnActionSchema, { ...kind.value, callId });
    return create(ActionSchema, { kind: { case: 'subagentSpawn', value } });
  }
  return action;
}

/** A message whose calls read as the actions that start them. */
function amended(message: ChatMessage, wanted: ReadonlyMap<string, Wanted>): ChatMessage {
  let changed = false;
  const parts = message.parts.map((part) => {
    const { kind } = part;
    const other = kind.case === 'toolCall' ? wanted.get(kind.value.callId) : undefined;
    if (kind.case !== 'toolCall' || other === undefined) return part;
    const name = other.name || kind.value.name;
    const text = other.text || kind.value.arguments;
    if (name === kind.value.name && text === kind.value.arguments) return part;
    changed = true;
    return callPart(kind.value.callId, name, text);
  });
  return changed ? create(ChatMessageSchema, { ...message, parts }) : message;
}

function callPart(callId: string, name: string, text: string): Part {
  const value = create(ToolCallPartSchema, { callId, name, arguments: text });
  return create(PartSchema, { kind: { case: 'toolCall', value } });
}
