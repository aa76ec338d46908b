/**
 * The names of attributes and metrics. Those of `gen_ai.`, `mcp.` and `error.` are of OpenTelemetry's conventions for
 * generative AI, version 0.1.0, which are in development and may still change:
 * https://github.com/open-telemetry/semantic-conventions-genai/tree/v0.1.0/docs/gen-ai
 * What they lack is under `spindle.` (8.3).
 */

export const OPERATION_NAME = 'gen_ai.operation.name';
export const PROVIDER_NAME = 'gen_ai.provider.name';
export const CONVERSATION_ID = 'gen_ai.conversation.id';
export const AGENT_NAME = 'gen_ai.agent.name';
export const TOOL_NAME = 'gen_ai.tool.name';
export const TOOL_TYPE = 'gen_ai.tool.type';
export const TOOL_CALL_ID = 'gen_ai.tool.call.id';
export const TOOL_CALL_ARGUMENTS = 'gen_ai.tool.call.arguments';
export const TOOL_CALL_RESULT = 'gen_ai.tool.call.result';
export const REQUEST_MODEL = 'gen_ai.request.model';
export const RESPONSE_MODEL = 'gen_ai.response.model';
export const RESPONSE_ID = 'gen_ai.response.id';
export const FINISH_REASONS = 'gen_ai.response.finish_reasons';
export const INPUT_TOKENS = 'gen_ai.usage.input_tokens';
export const OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const CACHED_INPUT_TOKENS = 'gen_ai.usage.cache_read.input_tokens';
export const REASONING_TOKENS = 'gen_ai.usage.reasoning.output_tokens';
/** Of a request to an MCP server: the conventions name its span after it. */
export const MCP_METHOD_NAME = 'mcp.method.name';
export const ERROR_TYPE = 'error.type';

export const TENANT = 'spindle.tenant';
export const TURN_ID = 'spindle.turn.id';
export const TURN_QUEUE_DURATION = 'spindle.turn.queue.duration';
export const ITERATION_INDEX = 'spindle.iteration.index';
export const MODEL_ATTEMPTS = 'spindle.model.attempts';
export const TOOL_ATTEMPTS = 'spindle.tool.attempts';
export const TOOL_OUTCOME = 'spindle.tool.outcome';
export const ATTEMPT_NUMBER = 'spindle.attempt.number';
export const ATTEMPT_BACKOFF = 'spindle.attempt.backoff';
export const WORKER_NAME = 'spindle.worker.name';
export const ARGUMENTS_VERDICT = 'spindle.arguments.verdict';
export const ARGUMENTS_REPAIRS = 'spindle.arguments.repairs';
export const REPAIR_STEP = 'spindle.arguments.repair';
export const REQUEUE_REASON = 'spindle.requeue.reason';
export const INTERRUPT_ID = 'spindle.interrupt.id';
export const CHILD_SESSION_ID = 'spindle.subagent.session.id';
export const CHILD_AGENT = 'spindle.subagent.agent';
export const REFUSAL_REASON = 'spindle.refusal.reason';
export const CALL_STATE = 'spindle.call.state';

/** Seconds that a call waited for a worker: an attribute of its span, and a metric. */
export const TOOL_QUEUE_DURATION = 'spindle.tool.queue.duration';

export const METRIC = {
  toolDuration: 'gen_ai.execute_tool.duration',
  agentDuration: 'gen_ai.invoke_agent.duration',
  modelDuration: 'gen_ai.client.inference.duration',
  queueDuration: TOOL_QUEUE_DURATION,
  attemptDuration: 'spindle.tool.attempt.duration',
  callsInFlight: 'spindle.calls.in_flight',
  queueDepth: 'spindle.queue.depth',
  workersConnected: 'spindle.workers.connected',
  slotsTotal: 'spindle.slots.total',
  slotsUsed: 'spindle.slots.used',
  slotsStuck: 'spindle.slots.stuck',
  toolRetries: 'spindle.tool.retries',
  argumentsRepaired: 'spindle.arguments.repaired',
  requestsRefused: 'spindle.requests.refused',
  appendDuration: 'spindle.journal.append.duration',
} as const;

/** Stands for every value that is not one of a bounded set (8.6). */
export const OTHER = '_OTHER';
