import { create, isMessage } from '@bufbuild/protobuf';
import {
  type Action,
  ActionSchema,
  type Decision as DecisionMessage,
  DecisionSchema,
} from '../../../gen/spindle/v1/action_pb.ts';
import { type AgentConfig, AgentConfigSchema } from '../../../gen/spindle/v1/agent_pb.ts';
import { type ChatMessage, ChatMessageSchema } from '../../../gen/spindle/v1/message_pb.ts';
import { type JsonValue, jsonText } from '../json.ts';
import { type Members, refuseUnknown } from '../known-members.ts';
import { isRawJson, type RawJson } from '../raw-json.ts';

/** What happens next, as a handler says it. What is left out: no messages, no actions, and no change. */
export interface Decision {
  /** Messages to record: `userMessage('…')`, say. */
  readonly messages?: readonly ChatMessage[];
  /** What the engine does, in order: `callModel()`, say. */
  readonly actions?: readonly Action[];
  /** Replaces the session's state. */
  readonly state?: JsonValue | RawJson;
  /** Replaces the agent's configuration: `changedConfig(config, { … })`, say. */
  readonly config?: AgentConfig;
  /** Write the state only if this is still its version; otherwise the decision is refused, and asked again. */
  readonly expectedStateVersion?: number;
}

/** What the engine would do. Return it, or nothing, to accept it; return `{ ...proposal, … }` to change it. */
export interface Proposal extends Decision {
  readonly messages: readonly ChatMessage[];
  readonly actions: readonly Action[];
}

const MEMBERS: Members<Decision> = {
  messages: true,
  actions: true,
  state: true,
  config: true,
  expectedStateVersion: true,
};

export function proposalOf(message: DecisionMessage | undefined): Proposal {
  const { messages = [], actions = [], stateJson, agent, expectedStateVersion } = message ?? {};
  return Object.freeze({
    messages,
    actions,
    ...(stateJson === undefined ? {} : { state: JSON.parse(stateJson) as JsonValue }),
    ...(agent === undefined ? {} : { config: agent }),
    ...(expectedStateVersion === undefined ? {} : { expectedStateVersion }),
  });
}

/** The message of a decision. Throws an Error that names what is no part of one. */
export function decisionMessageOf(decision: Decision): DecisionMessage {
  if (typeof decision !== 'object' || decision === null || Array.isArray(decision)) {
    throw new Error(
      'a handler returns a decision, { ...proposal, … } say, or nothing to accept the proposal',
    );
  }
  refuseUnknown(decision, MEMBERS, 'the decision');
  const { messages = [], actions = [], state, config, expectedStateVersion } = decision;
  for (const [index, message] of messages.entries()) {
    if (!isMessage(message, ChatMessageSchema)) {
      throw new Error(`messages[${index}] is no message: use userMessage(), assistantMessage() …`);
    }
  }
  for (const [index, action] of actions.entries()) {
    if (!isMessage(action, ActionSchema)) {
      throw new Error(`actions[${index}] is no action: use callModel(), callTool(), done() …`);
    }
  }
  if (config !== undefined && !isMessage(config, AgentConfigSchema)) {
    throw new Error('config is no configuration: use agentConfig() or changedConfig()');
  }
  return create(DecisionSchema, {
    messages: [...messages],
    actions: [...actions],
    ...(state === undefined ? {} : { stateJson: isRawJson(state) ? state.json : jsonText(state, '`state`') }),
    ...(config === undefined ? {} : { agent: config }),
    ...(expectedStateVersion === undefined ? {} : { expectedStateVersion }),
  });
}

/** The decision leads to a model call. */
export function callsModel({ actions = [] }: Decision): boolean {
  return actions.some(({ kind }) => kind.case === 'modelCall');
}
