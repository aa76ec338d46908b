import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { Usage } from '../../gen/spindle/v1/message_pb.ts';
import { MAX_SPAN_NAME_CHARS } from '../core/limits.ts';
import { unreachable } from '../core/unreachable.ts';
import type { Activity, CallActivity, ModelActivity, Moment, MomentName } from './activity.ts';
import type { ContentRecorder } from './content.ts';
import * as names from './conventions.ts';

/** What a span says about an activity, apart from its ids and times (8.1, 8.3, 8.4). */
export interface SpanDescription {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** Set where the activity failed: then the status is Error, else it stays Unset. */
  readonly failed: boolean;
}

/** @param content undefined where arguments and results are not recorded (8.5) */
export function spanOf(activity: Activity, content: ContentRecorder | undefined): SpanDescription {
  const { end } = activity;
  const attributes: Attributes = {};
  if (end?.kind === 'failed') attributes[names.ERROR_TYPE] = capped(end.code);
  const failed = end?.kind === 'failed';
  switch (activity.kind) {
    case 'turn':
      attributes[names.OPERATION_NAME] = 'invoke_agent';
      describeAgent(attributes, activity);
      attributes[names.TURN_ID] = activity.turnId;
      if (activity.queuedFor > 0) attributes[names.TURN_QUEUE_DURATION] = activity.queuedFor / 1_000;
      describeUsage(attributes, activity.usage);
      return { name: named('invoke_agent', activity.agentId), kind: SpanKind.INTERNAL, attributes, failed };
    case 'iteration':
      describeAgent(attributes, activity);
      attributes[names.ITERATION_INDEX] = activity.iteration;
      return { name: 'iteration', kind: SpanKind.INTERNAL, attributes, failed };
    case 'model':
      describeModelCall(attributes, activity);
      return { name: named('chat', activity.model), kind: SpanKind.CLIENT, attributes, failed };
    case 'call':
      describeCall(attributes, activity, content);
      return { name: named('execute_tool', activity.toolName), kind: SpanKind.INTERNAL, attributes, failed };
    case 'attempt':
      attributes[names.TOOL_NAME] = capped(activity.toolName);
      attributes[names.TOOL_CALL_ID] = activity.callId;
      attributes[names.ATTEMPT_NUMBER] = activity.attempt;
      attributes[names.WORKER_NAME] = activity.workerName;
      // Its own outcome, unlike the call's, is worth saying only where the status does not.
      if (end !== undefined && (end.kind === 'cancelled' || end.kind === 'denied'))
        attributes[names.TOOL_OUTCOME] = end.kind;
      if (activity.isConnector) attributes[names.MCP_METHOD_NAME] = MCP_CALL;
      return {
        name: named(activity.isConnector ? MCP_CALL : 'dispatch', activity.toolName),
        kind: SpanKind.CLIENT,
        attributes,
        failed,
      };
    case 'refusal':
      attributes[names.OPERATION_NAME] = 'execute_tool';
      attributes[names.TOOL_NAME] = capped(activity.toolName);
      attributes[names.TOOL_CALL_ID] = capped(activity.callId);
      attributes[names.TOOL_OUTCOME] = 'refused';
      return { name: named('execute_tool', activity.toolName), kind: SpanKind.INTERNAL, attributes, failed };
    default:
      return unreachable(activity);
  }
}

/** What a connector asks of its server in an attempt. */
const MCP_CALL = 'tools/call';

function describeAgent(attributes: Attributes, { agentId, sessionId }: AgentPlace): void {
  if (agentId === '') return;
  attributes[names.AGENT_NAME] = agentId;
  attributes[names.CONVERSATION_ID] = sessionId;
}

type AgentPlace = Pick<CallActivity, 'agentId' | 'sessionId'>;

function describeModelCall(attributes: Attributes, activity: ModelActivity): void {
  attributes[names.OPERATION_NAME] = 'chat';
  attributes[names.PROVIDER_NAME] = PROVIDERS[activity.provider] ?? activity.provider;
  attributes[names.REQUEST_MODEL] = activity.model;
  describeAgent(attributes, activity);
  describeUsage(attributes, activity.usage);
  attributes[names.MODEL_ATTEMPTS] = activity.attempts;
  if (activity.finishReason !== undefined) attributes[names.FINISH_REASONS] = [activity.finishReason];
  if (activity.responseModel !== undefined) attributes[names.RESPONSE_MODEL] = activity.responseModel;
  if (activity.responseId !== undefined) attributes[names.RESPONSE_ID] = activity.responseId;
}

/** Where the conventions have another name for a provider than its packages. */
export const PROVIDERS: Readonly<Record<string, string>> = { google: 'gcp.gemini', vertex: 'gcp.vertex_ai' };

function describeCall(
  attributes: Attributes,
  activity: CallActivity,
  content: ContentRecorder | undefined,
): void {
  const { end, input, requested, result } = activity;
  attributes[names.OPERATION_NAME] = 'execute_tool';
  attributes[names.TOOL_NAME] = capped(activity.toolName);
  attributes[names.TOOL_TYPE] = 'function';
  attributes[names.TOOL_CALL_ID] = activity.callId;
  describeAgent(attributes, activity);
  attributes[names.TOOL_ATTEMPTS] = activity.attempts;
  attributes[names.TOOL_QUEUE_DURATION] = activity.queuedFor / 1_000;
  if (end !== undefined) attributes[names.TOOL_OUTCOME] = end.kind;
  const verdict = input?.status.case;
  if (verdict !== undefined) attributes[names.ARGUMENTS_VERDICT] = verdict;
  const repairs = repairsOf(activity);
  if (repairs.length > 0) attributes[names.ARGUMENTS_REPAIRS] = [...repairs];
  if (content === undefined) return;
  attributes[names.TOOL_CALL_ARGUMENTS] = content.text(requested.arguments);
  if (result !== undefined) attributes[names.TOOL_CALL_RESULT] = content.result(result);
}

/** The steps of the repair ladder that the arguments took (1.7). */
export function repairsOf({ input }: CallActivity): readonly string[] {
  return input?.status.case === 'valid' || input?.status.case === 'invalid' ? input.status.value.repairs : [];
}

function describeUsage(attributes: Attributes, usage: Usage | undefined): void {
  if (usage === undefined) return;
  attributes[names.INPUT_TOKENS] = usage.inputTokens;
  attributes[names.OUTPUT_TOKENS] = usage.outputTokens;
  if (usage.cachedInputTokens > 0) attributes[names.CACHED_INPUT_TOKENS] = usage.cachedInputTokens;
  if (usage.reasoningTokens > 0) attributes[names.REASONING_TOKENS] = usage.reasoningTokens;
}

/** The name and the attributes of a span event. */
export function spanEventOf({ name, facts }: Moment): {
  readonly name: string;
  readonly attributes: Attributes;
} {
  const attributes: Attributes = {};
  for (const [fact, value] of Object.entries(facts)) {
    const attribute = FACTS[fact];
    if (attribute === undefined) continue;
    attributes[attribute] = fact === 'backoffMs' && typeof value === 'number' ? value / 1_000 : value;
  }
  return { name: EVENTS[name], attributes };
}

const EVENTS: Readonly<Record<MomentName, string>> = {
  attempt_failed: 'spindle.attempt.failed',
  requeued: 'spindle.attempt.requeued',
  deferred: 'spindle.call.deferred',
  interrupt_raised: 'spindle.interrupt.raised',
  interrupt_resumed: 'spindle.interrupt.resumed',
  subagent_started: 'spindle.subagent.started',
  decision_recorded: 'spindle.decision.recorded',
  decision_refused: 'spindle.decision.refused',
};

const FACTS: Readonly<Record<string, string>> = {
  attempt: names.ATTEMPT_NUMBER,
  code: names.ERROR_TYPE,
  backoffMs: names.ATTEMPT_BACKOFF,
  reason: names.REQUEUE_REASON,
  interruptId: names.INTERRUPT_ID,
  sessionId: names.CHILD_SESSION_ID,
  agentId: names.CHILD_AGENT,
  workerName: names.WORKER_NAME,
};

function named(operation: string, subject: string): string {
  return subject === '' ? operation : `${operation} ${capped(subject)}`;
}

/** Foreign names can be long. */
function capped(text: string): string {
  return text.length > MAX_SPAN_NAME_CHARS ? `${text.slice(0, MAX_SPAN_NAME_CHARS - 1)}…` : text;
}
