import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RetryPolicySchema } from '../../gen/spindle/v1/retry_pb.ts';
import { ToolSchema } from '../../gen/spindle/v1/tool_pb.ts';
import { MAX_ATTEMPTS, MAX_BACKOFF_MULTIPLIER, MAX_POLICY_DURATION_MS } from '../../src/core/limits.ts';
import {
  backoff,
  CONNECTOR_TOOL_POLICY,
  isSafeToRepeat,
  mergePolicies,
  type Policy,
  policyFault,
  policyMessage,
  policyOf,
  WORKER_TOOL_POLICY,
} from '../../src/core/policy.ts';
import { duration } from '../../src/core/time.ts';
import { POLICY } from './commands.ts';

type Layer = MessageInitShape<typeof RetryPolicySchema>;

function layer(fields: Layer) {
  return create(RetryPolicySchema, fields);
}

describe('the layers of a policy', () => {
  it('4.1: a tool of a connector has 60 s to run, and is otherwise like one of a worker', () => {
    expect(CONNECTOR_TOOL_POLICY).toEqual({ ...WORKER_TOOL_POLICY, runTimeout: 60_000 });
  });

  it('4.1: a worker tool has 60 s in the queue, 120 s to run, 600 s in all, one attempt, and no heartbeat', () => {
    expect(WORKER_TOOL_POLICY).toEqual({
      queueTimeout: 60_000,
      runTimeout: 120_000,
      totalTimeout: 600_000,
      maxAttempts: 1,
      initialBackoff: 1_000,
      maxBackoff: 30_000,
      backoffMultiplier: 2,
    });
  });

  it('4.1: a narrower layer wins, field by field', () => {
    const base = layer({ runTimeout: duration(1_000), queueTimeout: duration(1_000), maxAttempts: 2 });
    const kind = layer({ runTimeout: duration(2_000), maxAttempts: 3 });
    const tool = layer({ runTimeout: duration(3_000), backoffMultiplier: 1.5 });
    const call = layer({ totalTimeout: duration(9_000), heartbeatTimeout: duration(500) });
    expect(mergePolicies(WORKER_TOOL_POLICY, base, kind, undefined, tool, call)).toEqual({
      queueTimeout: 1_000,
      runTimeout: 3_000,
      totalTimeout: 9_000,
      heartbeatTimeout: 500,
      maxAttempts: 3,
      initialBackoff: 1_000,
      maxBackoff: 30_000,
      backoffMultiplier: 1.5,
    });
  });

  it('4.1: a layer that says nothing changes nothing', () => {
    expect(mergePolicies(POLICY, undefined, layer({}), undefined)).toMatchObject(POLICY);
  });

  it('4.1: a layer can narrow attempts to one again', () => {
    expect(mergePolicies(POLICY, layer({ maxAttempts: 5 }), layer({ maxAttempts: 1 })).maxAttempts).toBe(1);
  });

  it.each<[string, Layer, string | undefined]>([
    ['an empty one', {}, undefined],
    ['the shortest duration', { runTimeout: { seconds: 0n, nanos: 1 } }, undefined],
    ['the longest duration', { totalTimeout: duration(MAX_POLICY_DURATION_MS) }, undefined],
    ['a longer one', { totalTimeout: duration(MAX_POLICY_DURATION_MS + 1) }, 'retry.total_timeout'],
    ['no time in the queue', { queueTimeout: duration(0) }, 'retry.queue_timeout'],
    ['a negative duration', { runTimeout: duration(-1) }, 'retry.run_timeout'],
    ['the least int64', { heartbeatTimeout: { seconds: -(2n ** 63n), nanos: 0 } }, 'retry.heartbeat_timeout'],
    ['the greatest int64', { maxBackoff: { seconds: 2n ** 63n - 1n, nanos: 0 } }, 'retry.max_backoff'],
    ['a sign of its own', { heartbeatTimeout: { seconds: 1n, nanos: -1 } }, 'retry.heartbeat_timeout'],
    ['a second of nanoseconds', { initialBackoff: { seconds: 0n, nanos: 1e9 } }, 'retry.initial_backoff'],
    ['no first backoff', { initialBackoff: duration(0) }, 'retry.initial_backoff'],
    ['no attempt', { maxAttempts: 0 }, 'retry.max_attempts'],
    ['the most attempts', { maxAttempts: MAX_ATTEMPTS }, undefined],
    ['too many attempts', { maxAttempts: MAX_ATTEMPTS + 1 }, 'retry.max_attempts'],
    ['a shrinking backoff', { backoffMultiplier: 0.99 }, 'retry.backoff_multiplier'],
    ['the greatest factor', { backoffMultiplier: MAX_BACKOFF_MULTIPLIER }, undefined],
    ['a greater factor', { backoffMultiplier: MAX_BACKOFF_MULTIPLIER + 1 }, 'retry.backoff_multiplier'],
    ['a constant backoff', { backoffMultiplier: 1 }, undefined],
    ['a factor that is no number', { backoffMultiplier: Number.NaN }, 'retry.backoff_multiplier'],
    ['an infinite factor', { backoffMultiplier: Number.POSITIVE_INFINITY }, 'retry.backoff_multiplier'],
  ])('4.1: a layer of foreign origin is checked: %s', (_, fields, field) => {
    expect(policyFault(layer(fields))?.split(' ')[0]).toBe(field);
  });

  it('4.1: an event keeps a merged policy whole', () => {
    const millis = fc.integer({ min: 1, max: MAX_POLICY_DURATION_MS });
    const bound = fc.option(millis, { nil: undefined });
    const policy: fc.Arbitrary<Policy> = fc.record({
      queueTimeout: bound,
      runTimeout: bound,
      totalTimeout: bound,
      heartbeatTimeout: bound,
      maxAttempts: fc.integer({ min: 1, max: MAX_ATTEMPTS }),
      initialBackoff: millis,
      maxBackoff: millis,
      backoffMultiplier: fc.double({ min: 1, max: 1_000, noNaN: true }),
    });
    fc.assert(
      fc.property(policy, (expected) => {
        const bytes = toBinary(RetryPolicySchema, policyMessage(expected));
        expect(policyOf(fromBinary(RetryPolicySchema, bytes))).toEqual(expected);
      }),
    );
  });
});

describe('the wait before the next attempt', () => {
  it.each([
    [1, 1, 1_000],
    [2, 1, 2_000],
    [5, 1, 16_000],
    [6, 1, 30_000],
    [100, 1, 30_000],
    [3, 0.5, 2_000],
    [3, 0, 0],
  ])(
    '4.1: after attempt %i with draw %d it is %i ms: 1 s, times 2, up to 30 s, with full jitter',
    (...[attempt, draw, wait]) => {
      expect(backoff(WORKER_TOOL_POLICY, attempt, draw, 0)).toBe(wait);
    },
  );

  it('4.1: a failure that asks for a longer wait gets it, whatever the bound says', () => {
    expect(backoff(WORKER_TOOL_POLICY, 1, 0.5, 45_000)).toBe(45_000);
    expect(backoff(WORKER_TOOL_POLICY, 6, 1, 2_000)).toBe(30_000);
  });

  it('4.1: a failure that asks for a negative wait shortens nothing', () => {
    expect(backoff(WORKER_TOOL_POLICY, 1, 0, -5_000)).toBe(0);
  });

  it('4.1: the wait is never beyond its bound, nor negative, for any policy that is allowed', () => {
    const millis = fc.integer({ min: 1, max: MAX_POLICY_DURATION_MS });
    const arguments_ = fc.record({
      initialBackoff: millis,
      maxBackoff: millis,
      backoffMultiplier: fc.double({ min: 1, max: 1_000, noNaN: true }),
      attempt: fc.integer({ min: 1, max: MAX_ATTEMPTS }),
      draw: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    });
    fc.assert(
      fc.property(arguments_, ({ attempt, draw, ...waits }) => {
        const wait = backoff({ ...POLICY, ...waits }, attempt, draw, 0);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(waits.maxBackoff);
      }),
    );
  });
});

describe('what is safe to repeat', () => {
  it.each<[string, boolean, MessageInitShape<typeof ToolSchema>, Layer]>([
    ['a tool that says nothing', false, {}, {}],
    ['an idempotent tool', true, { annotations: { idempotent: true } }, {}],
    ['a tool that only reads', true, { annotations: { readOnly: true } }, {}],
    ['a tool that is not idempotent', false, { annotations: { idempotent: false } }, {}],
    ['a tool that asks for two attempts', true, { retry: { maxAttempts: 2 } }, {}],
    ['a tool that asks for one attempt', false, { retry: { maxAttempts: 1 } }, {}],
    ['a call that asks for two attempts', true, {}, { maxAttempts: 2 }],
    ['a call that asks for one attempt', false, {}, { maxAttempts: 1 }],
    [
      'a server that nobody trusts and calls its tool harmless',
      false,
      { annotations: { idempotent: true, readOnly: true, untrusted: true } },
      {},
    ],
    ['a call that narrows its tool', true, { retry: { maxAttempts: 3 } }, { maxAttempts: 1 }],
  ])('4.2: %s: %s', (_, safe, tool, call) => {
    expect(isSafeToRepeat(create(ToolSchema, tool), layer(call))).toBe(safe);
  });

  it('4.2: a tool that nobody declared, called without a policy, is not', () => {
    expect(isSafeToRepeat(undefined, undefined)).toBe(false);
  });
});
