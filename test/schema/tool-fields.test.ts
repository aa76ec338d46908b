import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { RetryPolicySchema } from '../../gen/spindle/v1/retry_pb.ts';
import { MAX_POLICY_DURATION_MS } from '../../src/core/limits.ts';
import { duration } from '../../src/core/time.ts';
import { faultOfName, faultOfPolicy } from '../../src/schema/tool-fields.ts';
import { refusal } from './tools.ts';

const policy = (fields: Omit<MessageInitShape<typeof RetryPolicySchema>, '$typeName'>) =>
  faultOfPolicy(create(RetryPolicySchema, fields));

describe('the fields of a tool', () => {
  it.each([
    'a',
    'get_weather',
    'files.read',
    'a-b/c:d',
    'große',
    '天気',
    '🌦',
    'x'.repeat(256),
    '🌦'.repeat(256),
  ])('2.2: takes the name %s', (name) => {
    expect(faultOfName(name)).toBeUndefined();
  });

  it.each([
    '',
    ' ',
    'a b',
    'a\n',
    '\u00a0',
    'a\u0000',
    'a\u200b',
    '\ud800',
    '\ufeffa',
    'x'.repeat(257),
    '🌦'.repeat(257),
  ])('2.2: refuses the name %j', (name) => {
    expect(faultOfName(name)).toBeDefined();
  });

  it.each(['tool_search', 'call_tool', 'submit_result'])('4.11: the name %s is reserved', (name) => {
    expect(refusal({ name })).toMatch(new RegExp(`^tool "${name}": its name is reserved`));
  });

  it.each([
    {},
    { runTimeout: duration(1) },
    { totalTimeout: duration(MAX_POLICY_DURATION_MS) },
    { maxAttempts: 1, backoffMultiplier: 1 },
    { maxAttempts: 100, backoffMultiplier: 2.5 },
  ])('takes the policy %#', (fields) => {
    expect(policy(fields)).toBeUndefined();
  });

  it.each([
    ['queue_timeout', { queueTimeout: duration(0) }],
    ['run_timeout', { runTimeout: duration(-5) }],
    ['total_timeout', { totalTimeout: duration(MAX_POLICY_DURATION_MS + 1) }],
    ['heartbeat_timeout', { heartbeatTimeout: { seconds: 1n, nanos: -1 } }],
    ['initial_backoff', { initialBackoff: { seconds: 0n, nanos: 1_000_000_000 } }],
    ['max_backoff', { maxBackoff: { seconds: 9_223_372_036_854_775_807n, nanos: 0 } }],
    ['max_attempts', { maxAttempts: 0 }],
    ['max_attempts', { maxAttempts: 101 }],
    ['backoff_multiplier', { backoffMultiplier: 0.5 }],
    ['backoff_multiplier', { backoffMultiplier: Number.NaN }],
    ['backoff_multiplier', { backoffMultiplier: Number.POSITIVE_INFINITY }],
  ])('refuses a policy by its %s', (field, fields) => {
    expect(policy(fields)).toContain(`retry.${field}`);
  });

  it('names the tool and the field', () => {
    expect(refusal({ name: 'slow', retry: { maxAttempts: 0 } })).toBe(
      'tool "slow": retry.max_attempts has to be from 1 to 100',
    );
  });
});
