import { describe, expect, it } from 'vitest';
import { createResumeTokens } from '../../src/workers/resume-token.ts';

const tokens = createResumeTokens(new Uint8Array(32).fill(1));
const token = tokens.issue('acme', 'worker-1', 'first');

describe('a resume token', () => {
  it('5.5: names the process that it was issued to, also after a restart with the same secret', () => {
    expect(tokens.processOf('acme', 'worker-1', token)).toBe('first');
    expect(createResumeTokens(new Uint8Array(32).fill(1)).processOf('acme', 'worker-1', token)).toBe('first');
  });

  it('5.5: tells a process from its successor of the same name', () => {
    const second = tokens.issue('acme', 'worker-1', 'second');
    expect(tokens.processOf('acme', 'worker-1', second)).toBe('second');
    expect(second).not.toBe(token);
  });

  it.each([
    ['another tenant', 'other', 'worker-1', token],
    ['another name', 'acme', 'worker-2', token],
    ['another process', 'acme', 'worker-1', token.replace('first', 'other')],
    ['no token', 'acme', 'worker-1', ''],
    ['a process alone', 'acme', 'worker-1', 'first'],
    ['a hash cut short', 'acme', 'worker-1', token.slice(0, -4)],
    ['a hash of nothing', 'acme', 'worker-1', 'first.'],
  ])('5.5: is refused for %s', (_, tenant, instanceId, given) => {
    expect(tokens.processOf(tenant, instanceId, given)).toBeUndefined();
  });

  it('5.5: is refused by an engine with another secret', () => {
    const others = createResumeTokens(new Uint8Array(32).fill(2));
    expect(others.processOf('acme', 'worker-1', token)).toBeUndefined();
  });
});
