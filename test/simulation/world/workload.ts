import { create } from '@bufbuild/protobuf';
import { type RetryPolicy, RetryPolicySchema } from '../../../gen/spindle/v1/retry_pb.ts';
import { duration, type Millis } from '../../../src/core/time.ts';
import type { Dice } from './dice.ts';
import { COMMON_TOOLS } from './tools.ts';

/** One call that somebody wants to be made, and how they go about it. */
export interface Intent {
  readonly callId: string;
  readonly tool: string;
  readonly arguments: string;
  readonly retry: RetryPolicy | undefined;
  readonly at: Millis;
  /** Whether the first wait asks for every update. */
  readonly wantsAll: boolean;
  /** When somebody cancels it. */
  readonly cancelAt: Millis | undefined;
  /** Drops its waits after about this long, and comes back. */
  readonly patience: Millis | undefined;
  /** A second caller with the same id, which joins the call. */
  readonly twin: boolean;
  /** Somebody uses the id again for another call, and has to be refused (4.12). */
  readonly clash: boolean;
  /** Answers from outside before the worker has deferred (4.9). */
  readonly settlesEarly: boolean;
}

export interface WorkloadOptions {
  readonly calls: number;
  /** New calls come until then. */
  readonly until: Millis;
}

export function planWorkload(dice: Dice, { calls, until }: WorkloadOptions): Intent[] {
  return Array.from({ length: calls }, (_, index): Intent => {
    const at = dice.between(0, until);
    return {
      callId: `c${index}`,
      tool: dice.chance(0.02) ? 'nobody-has-it' : dice.pick(COMMON_TOOLS),
      arguments: dice.chance(0.05) ? '{"n": "one"}' : `{"n": ${index}}`,
      retry: dice.chance(0.7) ? policy(dice) : undefined,
      at,
      wantsAll: dice.chance(0.7),
      cancelAt: dice.chance(0.1) ? at + dice.latency(3_000, 20_000) : undefined,
      patience: dice.chance(0.2) ? dice.between(50, 5_000) : undefined,
      twin: dice.chance(0.15),
      clash: dice.chance(0.05),
      settlesEarly: dice.chance(0.05),
    };
  });
}

function policy(dice: Dice): RetryPolicy {
  const maybe = (probability: number, low: Millis, high: Millis) =>
    dice.chance(probability) ? duration(Math.floor(dice.between(low, high))) : undefined;
  const queueTimeout = maybe(0.3, 1_000, 20_000);
  const runTimeout = maybe(0.6, 1_000, 20_000);
  const totalTimeout = maybe(0.7, 5_000, 60_000);
  const heartbeatTimeout = maybe(0.3, 2_000, 8_000);
  const initialBackoff = maybe(0.3, 100, 2_000);
  return create(RetryPolicySchema, {
    ...(queueTimeout === undefined ? {} : { queueTimeout }),
    ...(runTimeout === undefined ? {} : { runTimeout }),
    ...(totalTimeout === undefined ? {} : { totalTimeout }),
    ...(heartbeatTimeout === undefined ? {} : { heartbeatTimeout }),
    ...(initialBackoff === undefined ? {} : { initialBackoff }),
    ...(dice.chance(0.2) ? { maxAttempts: dice.int(1, 4) } : {}),
  });
}
