import { create } from '@bufbuild/protobuf';
import { type ChatMessage, ChatMessageSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { type Block, blockOf } from '../block.ts';
import { text } from '../content.ts';

/** What a message says: text, one block, or several in order. */
export type MessageContent = string | Block | readonly (string | Block)[];

/** A message of the person or program that the agent serves. */
export function userMessage(content: MessageContent): ChatMessage {
  return messageOf(Role.USER, content);
}

/** A message of the model, or in its place. */
export function assistantMessage(content: MessageContent): ChatMessage {
  return messageOf(Role.ASSISTANT, content);
}

/** An instruction. The agent's own stands in its `system`; this one joins the conversation where it is recorded. */
export function systemMessage(content: MessageContent): ChatMessage {
  return messageOf(Role.SYSTEM, content);
}

function messageOf(role: Role, content: MessageContent): ChatMessage {
  const values: readonly unknown[] = Array.isArray(content) ? content : [content];
  const parts = values.map((value, index) => {
    const block = typeof value === 'string' ? text(value) : blockOf(value);
    if (block === undefined) throw new Error(`/${index} is no content block: use text(), image() …`);
    return { kind: { case: 'content', value: block } } as const;
  });
  return create(ChatMessageSchema, { role, parts });
}

/** The text blocks of a message, one after the other; empty where it has none. */
export function messageText(message: ChatMessage): string {
  return message.parts
    .map(({ kind }) =>
      kind.case === 'content' && kind.value.kind.case === 'text' ? kind.value.kind.value.text : '',
    )
    .join('');
}
