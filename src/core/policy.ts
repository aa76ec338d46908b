import { create } from '@bufbuild/protobuf';
import type { Duration } from '@bufbuild/protobuf/wkt';
import { type RetryPolicy, RetryPolicySchema } from '../../gen/spindle/v1/retry_pb.ts';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_ATTEMPTS, MAX_BACKOFF_MULTIPLIER, MAX_POLICY_DURATION_MS } from './limits.ts';
import { duration, type Millis, millisOf } from './time.ts';

/** A merged policy: what holds for one call. An absent bound does not exist; only the engine may leave one out. */
export interface Policy {
  readonly queueTimeout?: Millis | undefined;
  readonly runTimeout?: Millis | undefined;
  readonly totalTimeout?: Millis | undefined;
  readonly heartbeatTimeout?: Millis | undefined;
  readonly maxAttempts: number;
  readonly initialBackoff: Millis;
  readonly maxBackoff: Millis;
  readonly backoffMultiplier: number;
}

/** The engine's own layer for tools that workers run (4.1). */
export const WORKER_TOOL_POLICY: Policy = {
  queueTimeout: 60_000,
  runTimeout: 120_000,
  totalTimeout: 600_000,
  maxAttempts: 1,
  initialBackoff: 1_000,
  maxBackoff: 30_000,
  backoffMultiplier: 2,
};

/** The same for tools of connectors: a server that answers at all answers soon (4.1). */
export const CONNECTOR_TOOL_POLICY: Policy = { ...WORKER_TOOL_POLICY, runTimeout: 60_000 };

/** One policy from several layers, the widest first: a narrower layer wins field by field (4.1). */
export function mergePolicies(widest: Policy, ...layers: readonly (RetryPolicy | undefined)[]): Policy {
  return layers.reduce<Policy>(
    (policy, layer) => (layer === undefined ? policy : overlay(policy, layer)),
    widest,
  );
}

function overlay(policy: Policy, layer: RetryPolicy): Policy {
  return {
    queueTimeout: layer.queueTimeout ? millisOf(layer.queueTimeout) : policy.queueTimeout,
    runTimeout: layer.runTimeout ? millisOf(layer.runTimeout) : policy.runTimeout,
    totalTimeout: layer.totalTimeout ? millisOf(layer.totalTimeout) : policy.totalTimeout,
    heartbeatTimeout: layer.heartbeatTimeout ? millisOf(layer.heartbeatTimeout) : policy.heartbeatTimeout,
    maxAttempts: layer.maxAttempts ?? policy.maxAttempts,
    initialBackoff: layer.initialBackoff ? millisOf(layer.initialBackoff) : policy.initialBackoff,
    maxBackoff: layer.maxBackoff ? millisOf(layer.maxBackoff) : policy.maxBackoff,
    backoffMultiplier: layer.backoffMultiplier ?? policy.backoffMultiplier,
  };
}

/** Of policies that were written, their message, and back: the calls of a tool share one of each. */
const messages = new WeakMap<Policy, RetryPolicy>();
const policies = new WeakMap<RetryPolicy, Policy>();

/** The form in which an event keeps a merged policy. */
export function policyMessage(policy: Policy): RetryPolicy {
  const known = messages.get(policy);
  if (known !== undefined) return known;
  const message = create(RetryPolicySchema, {
    queueTimeout: optionalDuration(policy.queueTimeout),
    runTimeout: optionalDuration(policy.runTimeout),
    totalTimeout: optionalDuration(policy.totalTimeout),
    heartbeatTimeout: optionalDuration(policy.heartbeatTimeout),
    maxAttempts: policy.maxAttempts,
    initialBackoff: duration(policy.initialBackoff),
    maxBackoff: duration(policy.maxBackoff),
    backoffMultiplier: policy.backoffMultiplier,
  });
  messages.set(policy, message);
  policies.set(message, policy);
  return message;
}

const NO_BOUNDS: Policy = { maxAttempts: 1, initialBackoff: 0, maxBackoff: 0, backoffMultiplier: 1 };

/** Reads back what policyMessage wrote. */
export function policyOf(message: RetryPolicy | undefined): Policy {
  return (message && policies.get(message)) ?? mergePolicies(NO_BOUNDS, message);
}

function optionalDuration(millis: Millis | undefined) {
  return millis === undefined ? undefined : duration(millis);
}

/**
 * A second attempt does no harm: the tool is annotated so, or the tool or the call itself asks for more than
 * one attempt. A wider layer never makes it so, and neither do hints that the configuration does not trust (4.2).
 */
export function isSafeToRepeat(tool: Tool | undefined, callLayer: RetryPolicy | undefined): boolean {
  const annotations = tool?.annotations?.untrusted === true ? undefined : tool?.annotations;
  return (
    annotations?.idempotent === true ||
    annotations?.readOnly === true ||
    (tool?.retry?.maxAttempts ?? 0) > 1 ||
    (callLayer?.maxAttempts ?? 0) > 1
  );
}

const DURATION_FIELDS = {
  queue_timeout: 'queueTimeout',
  run_timeout: 'runTimeout',
  total_timeout: 'totalTimeout',
  heartbeat_timeout: 'heartbeatTimeout',
  initial_backoff: 'initialBackoff',
  max_backoff: 'maxBackoff',
} as const;

/** What is wrong with a layer of foreign origin, naming the field and its range; undefined where nothing is. */
export function policyFault(layer: RetryPolicy): string | undefined {
  for (const [name, field] of Object.entries(DURATION_FIELDS)) {
    const length = layer[field];
    if (length !== undefined && !isPositiveDuration(length)) {
      return `retry.${name} has to be a positive duration of at most ${MAX_POLICY_DURATION_MS / 3_600_000} hours`;
    }
  }
  const { maxAttempts, backoffMultiplier } = layer;
  if (maxAttempts !== undefined && (maxAttempts < 1 || maxAttempts > MAX_ATTEMPTS)) {
    return `retry.max_attempts has to be from 1 to ${MAX_ATTEMPTS}`;
  }
  if (
    backoffMultiplier !== undefined &&
    !(backoffMultiplier >= 1 && backoffMultiplier <= MAX_BACKOFF_MULTIPLIER)
  ) {
    return `retry.backoff_multiplier has to be from 1 to ${MAX_BACKOFF_MULTIPLIER}`;
  }
  return undefined;
}

/** A Duration's nanoseconds have the sign of its seconds and are fewer than a second. */
function isPositiveDuration(length: Duration): boolean {
  const millis = millisOf(length);
  return length.nanos >= 0 && length.nanos < 1_000_000_000 && millis > 0 && millis <= MAX_POLICY_DURATION_MS;
}

/**
 * The wait after an attempt has failed: full jitter under an exponential bound, and never less than what the
 * failure itself asks for (4.1, Failure.retry_after).
 *
 * @param failedAttempt 1 for the first
 * @param draw uniform in [0, 1)
 */
export function backoff(policy: Policy, failedAttempt: number, draw: number, retryAfter: Millis): Millis {
  const bound = Math.min(
    policy.maxBackoff,
    policy.initialBackoff * policy.backoffMultiplier ** (failedAttempt - 1),
  );
  return Math.max(Math.floor(bound * draw), retryAfter);
}
