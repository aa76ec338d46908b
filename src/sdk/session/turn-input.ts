import { create, isMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { type ChatMessage, ChatMessageSchema } from '../../../gen/spindle/v1/message_pb.ts';
import type { StartTurnRequestSchema } from '../../../gen/spindle/v1/session_service_pb.ts';
import { ToolHandler, ToolSchema } from '../../../gen/spindle/v1/tool_pb.ts';
import type { TurnInputSchema } from '../../../gen/spindle/v1/trigger_pb.ts';
import { type MessageContent, userMessage } from '../agent/message.ts';
import { type JsonValue, jsonText } from '../json.ts';
import { type TaskOptions, taskContractOf } from '../task.ts';
import type { Tool } from '../tool.ts';
import { flatten, type Toolchain } from '../toolchain.ts';

/** A named action, for an agent that decides about client.action. */
export interface ActionInput {
  readonly action: string;
  readonly arguments?: JsonValue;
}

/** What starts a turn: what the user says, messages, or a named action. */
export type TurnInput = MessageContent | ChatMessage | readonly ChatMessage[] | ActionInput;

export interface StartTurnOptions {
  /**
   * Names the turn. The same id again is the same turn (6.14), also for another process. The client makes one where
   * it is not given.
   */
  readonly turnId?: string;
  /** Wait behind a turn that runs, in place of being refused with turn_already_active. */
  readonly queue?: boolean;
  /** The turn has to end with this value, in place of the agent's task (6.12). */
  readonly task?: TaskOptions;
  /** Tools that this client runs, for this turn (6.9): defined with a handler, or settled elsewhere without one. */
  readonly clientTools?: readonly (Tool | Toolchain)[];
}

/** The message that starts a turn. Throws an Error for an input that says nothing. */
export function turnRequest(
  sessionId: string,
  input: TurnInput,
  { turnId, queue = false, task, clientTools = [] }: StartTurnOptions,
  newId: () => string,
): MessageInitShape<typeof StartTurnRequestSchema> & { readonly turnId: string } {
  return {
    sessionId,
    turnId: turnId === undefined || turnId === '' ? newId() : turnId,
    input: inputOf(input, clientTools),
    queue,
    ...(task === undefined ? {} : { task: taskContractOf(task) }),
  };
}

function inputOf(
  input: TurnInput,
  clientTools: readonly (Tool | Toolchain)[],
): MessageInitShape<typeof TurnInputSchema> {
  if (isAction(input)) {
    if (clientTools.length > 0)
      throw new Error('client tools come with messages: a named action cannot bring any');
    const argumentsJson = input.arguments === undefined ? '' : jsonText(input.arguments, 'the arguments');
    return { kind: { case: 'action', value: { name: input.action, argumentsJson } } };
  }
  const messages = messagesOf(input);
  if (messages.length === 0) throw new Error('a turn starts with a message or with a named action');
  return { kind: { case: 'messages', value: { messages, clientTools: clientDefinitions(clientTools) } } };
}

function isAction(input: TurnInput): input is ActionInput {
  return typeof input === 'object' && 'action' in input && typeof input.action === 'string';
}

function messagesOf(input: Exclude<TurnInput, ActionInput>): ChatMessage[] {
  if (isMessage(input, ChatMessageSchema)) return [input];
  const values: readonly unknown[] = Array.isArray(input) ? input : [];
  if (values.some((value) => isMessage(value, ChatMessageSchema))) {
    return values.map((value, index) => {
      if (!isMessage(value, ChatMessageSchema))
        throw new Error(`the input mixes messages with content: /${index}`);
      return value;
    });
  }
  return Array.isArray(input) && values.length === 0 ? [] : [userMessage(input as MessageContent)];
}

/** Their handler is the client, also of a tool that was defined for a worker. */
function clientDefinitions(tools: readonly (Tool | Toolchain)[]) {
  return flatten(tools, 'the client tools').map(({ definition }) =>
    create(ToolSchema, { ...definition, handler: ToolHandler.CLIENT }),
  );
}
