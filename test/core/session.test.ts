import { describe, expect, it } from 'vitest';
import { directCallOf, directCallSession } from '../../src/core/session.ts';

describe('the session of a direct call', () => {
  it('4.12: it is `call:` and the id of the call, whatever that is', () => {
    expect(directCallSession('c1')).toBe('call:c1');
    for (const callId of ['c1', 'call:c1', 'a/b', '']) {
      expect(directCallOf(directCallSession(callId))).toBe(callId);
    }
  });

  it('4.12: a conversation is the session of no direct call', () => {
    expect(directCallOf('s1')).toBeUndefined();
    expect(directCallOf('my-call:c1')).toBeUndefined();
  });
});
