import { create } from '@bufbuild/protobuf';
import { type ChatMessage, ChatMessageSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import type { Failure } from '../../../gen/spindle/v1/result_pb.ts';
import { failure } from '../failure.ts';
import { type RepairedHistory, repairHistory } from '../history.ts';
import type { CallOutcome } from '../paired-calls.ts';
import type { Session } from '../session.ts';
import { callsIn, resultsIn, textMessage } from './messages.ts';
import { modelCallOf } from './model-call.ts';

/**
 * The messages of the model call that is due or under way: the instructions, then the conversation, or what the
 * decision sends in its place. Each call in it has exactly one result (6.5).
 */
export function requestHistory(session: Session): RepairedHistory {
  const { conversation, calls } = session;
  const given = conversation?.turn?.nextModelCall.messages ?? [];
  const messages = given.length > 0 ? given : (conversation?.messages ?? []);
  const outcomes = new Map<string, CallOutcome>();
  for (const { callId, phase } of calls.values()) {
    if (phase.kind === 'finished') outcomes.set(callId, phase.end.outcome);
  }
  // What a turn left unstarted is told from what may have run.
  for (const { callId, name } of conversation?.messages.flatMap(callsIn) ?? []) {
    if (!calls.has(callId)) outcomes.set(callId, { case: 'error', value: notStarted(name) });
  }
  const { messages: repaired, repairs } = repairHistory(inCallOrder(messages), outcomes);
  const away = modelCallOf(session)?.toolsUnavailable ?? [];
  return { messages: withInstructions(repaired, conversation?.agent?.system ?? '', away), repairs };
}

function notStarted(name: string): Failure {
  return failure('cancelled', `${name} was not started: its turn ended first.`);
}

/** Results stand in the log as the calls ended; a model reads them in the order of its calls (6.1). */
function inCallOrder(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const order = new Map<string, number>();
  for (const { callId } of messages.flatMap(callsIn)) order.set(callId, order.size);
  const placeOf = (message: ChatMessage): number => order.get(resultsIn(message)[0]?.callId ?? '') ?? 0;
  const sorted: ChatMessage[] = [];
  let results: ChatMessage[] = [];
  const flush = (): void => {
    sorted.push(...results.sort((a, b) => placeOf(a) - placeOf(b)));
    results = [];
  };
  for (const message of messages) {
    if (message.role === Role.TOOL) {
      results.push(message);
      continue;
    }
    flush();
    sorted.push(message);
  }
  flush();
  return sorted;
}

/** Instructions that a conversation brings itself stay where they are. What is away is told in either (6.15). */
function withInstructions(
  messages: readonly ChatMessage[],
  system: string,
  away: readonly string[],
): readonly ChatMessage[] {
  const [first, ...others] = messages;
  const texts = (first?.role === Role.SYSTEM ? away : [system, ...away]).filter((text) => text !== '');
  if (texts.length === 0) return messages;
  const told = textMessage(Role.SYSTEM, texts.join('\n\n'));
  if (first?.role === Role.SYSTEM)
    return [create(ChatMessageSchema, { ...first, parts: [...first.parts, ...told.parts] }), ...others];
  return [create(ChatMessageSchema, { ...told, id: 'system' }), ...messages];
}
