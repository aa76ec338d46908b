import type { Duration } from '@bufbuild/protobuf/wkt';
import type { RetryPolicy } from '../../gen/spindle/v1/retry_pb.ts';
import type { Tool } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_ATTEMPTS, MAX_POLICY_DURATION_MS, MAX_TOOL_NAME_CHARS } from '../core/limits.ts';
import { millisOf } from '../core/time.ts';

/** The names of the engine's own tools (4.11). */
export const RESERVED_TOOL_NAMES: ReadonlySet<string> = new Set([
  'tool_search',
  'call_tool',
  'submit_result',
]);

/** What is wrong with a tool apart from its schemas; undefined where nothing is. */
export function faultOfTool(tool: Tool): string | undefined {
  return faultOfName(tool.name) ?? (tool.retry === undefined ? undefined : faultOfPolicy(tool.retry));
}

/** What is wrong with a tool's name: printable characters without white space, as Tool.name says. */
export function faultOfName(name: string): string | undefined {
  if (name === '') return 'it has no name: give it one';
  // One code point takes at most two UTF-16 code units.
  if (name.length > 2 * MAX_TOOL_NAME_CHARS || [...name].length > MAX_TOOL_NAME_CHARS) {
    return `its name is longer than ${MAX_TOOL_NAME_CHARS} characters: shorten it`;
  }
  if (/[\p{White_Space}\p{C}]/u.test(name)) {
    return 'its name holds white space or a character that does not print: use letters, digits and punctuation';
  }
  if (RESERVED_TOOL_NAMES.has(name)) return 'its name is reserved for a tool of the engine: choose another';
  return undefined;
}

const DURATIONS = [
  'queueTimeout',
  'runTimeout',
  'totalTimeout',
  'heartbeatTimeout',
  'initialBackoff',
  'maxBackoff',
] as const;

/** What is wrong with a retry policy: durations are positive and bounded, and so are attempts. */
export function faultOfPolicy(policy: RetryPolicy): string | undefined {
  for (const field of DURATIONS) {
    const value = policy[field];
    if (value !== undefined && !isSane(value)) {
      return `retry.${fieldName(field)} has to be positive and at most ${MAX_POLICY_DURATION_MS} ms`;
    }
  }
  const { maxAttempts, backoffMultiplier } = policy;
  if (maxAttempts !== undefined && (maxAttempts < 1 || maxAttempts > MAX_ATTEMPTS)) {
    return `retry.max_attempts has to be from 1 to ${MAX_ATTEMPTS}`;
  }
  if (backoffMultiplier !== undefined && !(Number.isFinite(backoffMultiplier) && backoffMultiplier >= 1)) {
    return 'retry.backoff_multiplier has to be a number of at least 1';
  }
  return undefined;
}

/** A Duration's nanoseconds have the sign of its seconds and are fewer than a second. */
function isSane(duration: Duration): boolean {
  const millis = millisOf(duration);
  return (
    duration.nanos >= 0 && duration.nanos < 1_000_000_000 && millis > 0 && millis <= MAX_POLICY_DURATION_MS
  );
}

function fieldName(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
