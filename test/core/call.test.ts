import { describe, expect, it } from 'vitest';
import { earlier, queueDeadline, totalDeadline } from '../../src/core/call.ts';
import { answer, defer, interrupt, placement, request, resume, START } from './commands.ts';
import { given } from './given.ts';

const RUNNING = request({ placement: placement('t1') });
const NONE = { queueTimeout: undefined, totalTimeout: undefined };

describe('the deadlines of a call', () => {
  it('4.4: the total one counts from the request, whatever the phase', () => {
    expect(totalDeadline(given(request({}, 7)).call)).toBe(START + 100_007);
    expect(totalDeadline(given(RUNNING).call)).toBe(START + 100_000);
    expect(totalDeadline(given(RUNNING, answer('t1', defer(5), 1)).call)).toBe(START + 100_000);
  });

  it('4.4: there is none while a person is asked, and it is as much later afterwards', () => {
    const asked = [RUNNING, answer('t1', interrupt('q'), 1_000)];
    expect(totalDeadline(given(...asked).call)).toBeUndefined();
    expect(totalDeadline(given(...asked, resume('q', 31_000)).call)).toBe(START + 130_000);
  });

  it('4.4: the one of the queue is there while the call waits', () => {
    expect(queueDeadline(given(request({}, 7)).call)).toBe(START + 10_007);
    expect(queueDeadline(given(RUNNING).call)).toBeUndefined();
  });

  it('4.1: a clock without a bound has none', () => {
    const { call } = given(request({ policy: NONE }));
    expect([queueDeadline(call), totalDeadline(call)]).toEqual([undefined, undefined]);
  });

  it('4.4: the earlier of two is the one that exists, or the lesser', () => {
    expect([earlier(1, 2), earlier(2, 1), earlier(undefined, 3), earlier(3, undefined)]).toEqual([
      1, 1, 3, 3,
    ]);
    expect(earlier(undefined, undefined)).toBeUndefined();
  });
});
