import { create, toBinary } from '@bufbuild/protobuf';
import { type ChatMessage, ChatMessageSchema, Role } from '../../../gen/spindle/v1/message_pb.ts';
import { type TurnInput, TurnInputSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import {
  MAX_CHAT_MESSAGE_BYTES,
  MAX_ID_CHARS,
  MAX_LABEL_CHARS,
  MAX_MESSAGES_PER_INPUT,
  MAX_TOOLS_PER_AGENT,
} from '../../core/limits.ts';
import { jsonFault } from '../../core/loop/agent-config.ts';
import { RESERVED_NAMES } from '../../core/loop/reserved.ts';
import type { Schemas } from '../../schema/schemas.ts';

/** What is wrong with the input of a client, naming the field; undefined where nothing is (6.9). */
export function inputFault(schemas: Schemas, input: TurnInput | undefined): string | undefined {
  switch (input?.kind.case) {
    case 'messages': {
      const { messages, clientTools } = input.kind.value;
      if (messages.length === 0) return 'input.messages has no message';
      if (messages.length > MAX_MESSAGES_PER_INPUT) {
        return `input.messages has ${messages.length} messages; at most ${MAX_MESSAGES_PER_INPUT} are possible`;
      }
      if (clientTools.length > MAX_TOOLS_PER_AGENT) {
        return `input.client_tools has ${clientTools.length} tools; at most ${MAX_TOOLS_PER_AGENT} are possible`;
      }
      for (const tool of clientTools) {
        if (RESERVED_NAMES.has(tool.name))
          return `input.client_tools: ${tool.name} is a name of the engine's own tools`;
        const defined = schemas.define(tool);
        if (defined.kind === 'refused') return `input.client_tools: ${defined.reason}`;
      }
      for (const [index, message] of messages.entries()) {
        const fault = messageFault(message);
        if (fault !== undefined) return `input.messages[${index}]${fault}`;
      }
      return undefined;
    }
    case 'action': {
      const { name, argumentsJson } = input.kind.value;
      if (name === '' || name.length > MAX_LABEL_CHARS)
        return `input.action.name has to have 1 to ${MAX_LABEL_CHARS} characters`;
      return jsonFault('input.action.arguments_json', argumentsJson, 'any');
    }
    default:
      return 'input is not set: send messages, or an action';
  }
}

function messageFault(message: ChatMessage): string | undefined {
  const { role, parts } = message;
  if (parts.length === 0) return '.parts is empty';
  if (role !== Role.USER && role !== Role.TOOL) {
    return '.role: clients send messages of the user, and tool messages for their own open calls';
  }
  const wanted = role === Role.USER ? 'content' : 'toolResult';
  const wrong = parts.findIndex(({ kind }) => kind.case !== wanted);
  if (wrong >= 0) {
    return `.parts[${wrong}] has to be ${role === Role.USER ? 'content' : 'a tool_result'} in a message of this role`;
  }
  for (const [index, { kind }] of parts.entries()) {
    if (kind.case === 'content' && kind.value.kind.case === undefined)
      return `.parts[${index}].content has no kind`;
    if (kind.case === 'toolResult' && kind.value.outcome.case === undefined)
      return `.parts[${index}].tool_result has no outcome`;
  }
  if (message.id.length > MAX_ID_CHARS) return `.id is longer than ${MAX_ID_CHARS} characters`;
  return sizeFault(message);
}

/** A message that the log could not hold; undefined where it can. */
export function sizeFault(message: ChatMessage): string | undefined {
  return toBinary(ChatMessageSchema, message).byteLength > MAX_CHAT_MESSAGE_BYTES && !holdsMedia(message)
    ? ` is larger than ${MAX_CHAT_MESSAGE_BYTES} bytes; send large data as a blob or a resource link`
    : undefined;
}

/** Pictures and the like go to the blob store, and do not count. */
function holdsMedia({ parts }: ChatMessage): boolean {
  return parts.some(
    ({ kind }) =>
      kind.case === 'content' && (kind.value.kind.case === 'image' || kind.value.kind.case === 'audio'),
  );
}

/** The part of an input that starts a turn: without the results that settle open calls. */
export function withoutResults(input: TurnInput): TurnInput | undefined {
  if (input.kind.case !== 'messages') return input;
  const messages = input.kind.value.messages.filter(({ role }) => role !== Role.TOOL);
  if (messages.length === 0) return undefined;
  return create(TurnInputSchema, { kind: { case: 'messages', value: { ...input.kind.value, messages } } });
}
