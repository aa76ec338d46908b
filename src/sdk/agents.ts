/** What defines agents, and says what they do next: the part that clients and workers share. */

export type { Action } from '../../gen/spindle/v1/action_pb.ts';
export type { AgentConfig } from '../../gen/spindle/v1/agent_pb.ts';
export { type ChatMessage, Role, type Usage } from '../../gen/spindle/v1/message_pb.ts';
export { FinishReason, type ModelRequest, type ModelResponse } from '../../gen/spindle/v1/trigger_pb.ts';
export {
  callModel,
  callTool,
  done,
  endCall,
  failCall,
  type ModelCallOptions,
  raiseInterrupt,
  type SpawnOptions,
  spawnSubagent,
  type ToolCallOptions,
} from './agent/action.ts';
export { type Agent, type AgentOptions, defineAgent } from './agent/agent.ts';
export { agentConfig, changedConfig } from './agent/config.ts';
export type { Decision, Proposal } from './agent/decision.ts';
export type {
  ContextName,
  DecisionContext,
  DecisionHandlers,
  DecisionResult,
  DecisionTrigger,
  Triggers,
} from './agent/decision-context.ts';
export {
  assistantMessage,
  type MessageContent,
  messageText,
  systemMessage,
  userMessage,
} from './agent/message.ts';
export type { ModelContext, ModelHandler } from './agent/model-handler.ts';
export type { ModelFacts, ModelPart, ModelReply } from './agent/model-reply.ts';
export type { AgentSettings, ConnectorOptions, SubagentOptions } from './agent/settings.ts';
export type { ToolSource, ToolSourceContext } from './agent/tool-source.ts';
export type { TaskOptions, TaskOutput, TaskTerms } from './task.ts';
