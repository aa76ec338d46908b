import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Action, ActionSchema } from '../../../gen/spindle/v1/action_pb.ts';
import type { AgentConfig } from '../../../gen/spindle/v1/agent_pb.ts';
import type { ChatMessage } from '../../../gen/spindle/v1/message_pb.ts';
import type { InterruptOptions } from '../context.ts';
import { type JsonValue, jsonText } from '../json.ts';
import { type Members, refuseUnknown } from '../known-members.ts';
import { toToolResult } from '../result.ts';
import { retryPolicyOf } from '../tool-definition.ts';
import { failureOf } from '../tool-error.ts';
import type { RetryOptions } from '../tool-options.ts';
import { userMessage } from './message.ts';

type ActionKind = NonNullable<MessageInitShape<typeof ActionSchema>['kind']>;

function actionOf(kind: ActionKind): Action {
  return create(ActionSchema, { kind });
}

/** What is not given is taken from the agent's configuration. */
export interface ModelCallOptions {
  /** Another model for this call, as `provider/model`. */
  readonly model?: string;
  readonly retry?: RetryOptions;
  /** Offer no tools, so that the model has to answer. */
  readonly withoutTools?: boolean;
  /** Offer only these of the agent's tools. */
  readonly toolNames?: readonly string[];
  /** Send these in place of the recorded conversation, which stays as it is. */
  readonly messages?: readonly ChatMessage[];
}

/** Calls the model. */
export function callModel(options: ModelCallOptions = {}): Action {
  const members: Members<ModelCallOptions> = {
    model: true,
    retry: true,
    withoutTools: true,
    toolNames: true,
    messages: true,
  };
  refuseUnknown(options, members, 'callModel');
  const { model = '', retry, withoutTools = false, toolNames = [], messages = [] } = options;
  return actionOf({
    case: 'modelCall',
    value: {
      model,
      withoutTools,
      toolNames: [...toolNames],
      messages: [...messages],
      ...(retry === undefined ? {} : { retry: retryPolicyOf(retry) }),
    },
  });
}

export interface ToolCallOptions {
  /** Names the call. The engine makes a name where there is none. */
  readonly callId?: string;
  readonly retry?: RetryOptions;
}

/** Starts a tool call, as if the model had made it (6.16). */
export function callTool(
  tool: string | { readonly name: string },
  args: JsonValue = {},
  options: ToolCallOptions = {},
): Action {
  refuseUnknown(options, { callId: true, retry: true }, 'callTool');
  const { callId = '', retry } = options;
  return actionOf({
    case: 'toolCall',
    value: {
      callId,
      name: typeof tool === 'string' ? tool : tool.name,
      arguments: jsonText(args, 'the arguments'),
      ...(retry === undefined ? {} : { retry: retryPolicyOf(retry) }),
    },
  });
}

/** Ends a call with whatever its handler would have returned (3.1). '' is the call that the trigger is about. */
export function endCall(callId: string, value: unknown): Action {
  const form = { case: 'result', value: toToolResult(value, { structured: true }) } as const;
  return actionOf({ case: 'toolResult', value: { callId, form } });
}

/** Fails a call with whatever its handler would have thrown. '' is the call that the trigger is about. */
export function failCall(callId: string, error: unknown): Action {
  return actionOf({ case: 'toolError', value: { callId, error: failureOf(error) } });
}

export interface SpawnOptions {
  /** The tool call that the child's answer ends. */
  readonly callId: string;
  readonly agent: string | { readonly id: string };
  /** The child's first message. */
  readonly message: string | ChatMessage;
  /** A configuration for the child in place of its agent's. */
  readonly config?: AgentConfig;
}

/** Starts a child session whose answer ends a tool call (6.10). */
export function spawnSubagent(options: SpawnOptions): Action {
  refuseUnknown(options, { callId: true, agent: true, message: true, config: true }, 'spawnSubagent');
  const { callId, agent, message, config } = options;
  return actionOf({
    case: 'subagentSpawn',
    value: {
      callId,
      agentId: typeof agent === 'string' ? agent : agent.id,
      message: typeof message === 'string' ? userMessage(message) : message,
      ...(config === undefined ? {} : { agent: config }),
    },
  });
}

/** Waits for a person (6.11): with a `callId` that call is held back, without one the turn pauses. */
export function raiseInterrupt(options: InterruptOptions & { readonly callId?: string }): Action {
  const { reason, payload, interruptId = '', callId = '' } = options;
  refuseUnknown(options, { reason: true, payload: true, interruptId: true, callId: true }, 'raiseInterrupt');
  return actionOf({
    case: 'interrupt',
    value: {
      reason,
      interruptId,
      callId,
      payloadJson: payload === undefined ? '' : jsonText(payload, '`payload`'),
    },
  });
}

/** Ends the turn, with an output where there is one. */
export function done(output?: JsonValue): Action {
  const outputJson = output === undefined ? '' : jsonText(output, 'the output');
  return actionOf({ case: 'done', value: { outputJson } });
}
