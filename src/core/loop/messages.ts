import { create } from '@bufbuild/protobuf';
import type { ModelCallFinished, ToolCallFinished } from '../../../gen/spindle/v1/event_pb.ts';
import {
  type ChatMessage,
  ChatMessageSchema,
  PartSchema,
  Role,
  type ToolCallPart,
  type ToolResultPart,
  ToolResultPartSchema,
} from '../../../gen/spindle/v1/message_pb.ts';
import { ContentSchema } from '../../../gen/spindle/v1/result_pb.ts';
import type { Call } from '../call.ts';
import { ownMetadata } from '../own-metadata.ts';

/** The calls that a message holds, in order. */
export function callsIn({ parts }: ChatMessage): readonly ToolCallPart[] {
  let calls: ToolCallPart[] | undefined;
  for (const { kind } of parts) {
    if (kind.case !== 'toolCall') continue;
    calls ??= [];
    calls.push(kind.value);
  }
  return calls ?? NONE;
}

/** The ends of calls that a message holds, in order. */
export function resultsIn({ parts }: ChatMessage): readonly ToolResultPart[] {
  let results: ToolResultPart[] | undefined;
  for (const { kind } of parts) {
    if (kind.case !== 'toolResult') continue;
    results ??= [];
    results.push(kind.value);
  }
  return results ?? NONE;
}

/** Of most messages: each decision looks through the whole conversation. */
const NONE: readonly never[] = [];

/** The text of a message, its text blocks joined as they are. */
export function textOf({ parts }: ChatMessage): string {
  return parts
    .flatMap(({ kind }) =>
      kind.case === 'content' && kind.value.kind.case === 'text' ? [kind.value.kind.value.text] : [],
    )
    .join('');
}

/** The arguments of a call, in the message that holds it; empty where there is none. */
export function argumentsIn(messages: readonly ChatMessage[], messageId: string, callId: string): string {
  const message = messages.findLast(({ id }) => id === messageId);
  return (message && callsIn(message).find((call) => call.callId === callId)?.arguments) ?? '';
}

/** Whether the model was told to write null for what it leaves out of a call's arguments (2.6). */
export function writesNullForAbsent(
  messages: readonly ChatMessage[],
  messageId: string,
  callId: string,
): boolean {
  const message = messages.findLast(({ id }) => id === messageId);
  const part = message?.parts.find(({ kind }) => kind.case === 'toolCall' && kind.value.callId === callId);
  return ownMetadata(part?.providerMetadataJson ?? '').nullForAbsent === true;
}

/** A message of text. */
export function textMessage(role: Role, text: string): ChatMessage {
  const content = create(ContentSchema, { kind: { case: 'text', value: { text } } });
  return create(ChatMessageSchema, {
    role,
    parts: [create(PartSchema, { kind: { case: 'content', value: content } })],
  });
}

/** The tool's message that tells a model how a call ended. */
export function messageOfCall(
  { callId, name }: Pick<Call, 'callId' | 'name'>,
  end: ToolCallFinished,
  id = '',
): ChatMessage {
  const value = create(ToolResultPartSchema, { callId, name, outcome: end.outcome });
  return create(ChatMessageSchema, {
    id,
    role: Role.TOOL,
    parts: [create(PartSchema, { kind: { case: 'toolResult', value } })],
  });
}

/** The assistant's message that a model call brought; undefined where it failed, or said nothing. */
export function messageOfModelCall({ outcome }: ModelCallFinished, id = ''): ChatMessage | undefined {
  if (outcome.case !== 'response' || outcome.value.message === undefined) return undefined;
  return { ...outcome.value.message, id };
}
