import { describe, expect, it } from 'vitest';
import type { Heard } from '../../src/core/command.ts';
import { wakeup } from '../../src/core/timers.ts';
import {
  answer,
  defer,
  failed,
  interrupt,
  lose,
  place,
  placement,
  reject,
  request,
  result,
  resume,
  START,
  tick,
} from './commands.ts';
import {
  attemptFailed,
  dispatched,
  failedWith,
  finishedWith,
  MAYBE_DONE,
  NOT_DONE,
  requeued,
} from './expected.ts';
import { type Given, given } from './given.ts';

const NOBODY: Heard = new Map();

/** When the session wants to be looked at again, in milliseconds since START. */
function wakes({ session }: Pick<Given, 'session'>, now: number, heard: Heard = NOBODY): number | undefined {
  const at = wakeup(session, START + now, heard);
  return at === undefined ? undefined : at - START;
}

describe('the queue clock', () => {
  it('4.4: a call that nobody takes in time ends with queue_timeout, and nothing had been handed out', () => {
    const waiting = given(request());
    expect(wakes(waiting, 0)).toBe(10_000);
    waiting.when(tick(9_999)).leadsTo();
    waiting.when(tick(10_000)).leadsTo(failedWith(1, 'queue_timeout', NOT_DONE));
  });

  it('4.2: a queue timeout may always be retried, and the next attempt waits anew', () => {
    const { session } = given(request({ policy: { maxAttempts: 2 } }))
      .when(tick(10_000))
      .leadsTo(attemptFailed(1, 'queue_timeout', { backoff: 500, answered: false }));
    expect(wakes({ session }, 10_000)).toBe(10_500);
    expect(wakes({ session }, 10_500)).toBe(20_500);
  });

  it('4.4: it does not run while the call is dispatched', () => {
    const back = given(request(), place('t1', 4_000), reject('t1', 15_000));
    expect(wakes(back, 15_000)).toBe(21_000);
    back.when(tick(20_999)).leadsTo();
    back.when(tick(21_000)).leadsTo(failedWith(1, 'queue_timeout'));
  });

  it('4.3: it accumulates over requeues', () => {
    const back = given(
      request(),
      place('t1', 4_000),
      lose('t1', 'never_held', 5_000),
      place('t2', 8_000),
      lose('t2', 'never_sent', 8_000),
    );
    expect(back.call.phase).toMatchObject({ waited: 7_000 });
    back.when(tick(11_000)).leadsTo(failedWith(1, 'queue_timeout'));
  });

  it('4.4: it does not run while the call backs off', () => {
    const retried = given(
      request({ policy: { maxAttempts: 2, runTimeout: 90_000 }, placement: placement('t1') }),
      answer('t1', failed('busy', { retryable: true, retryAfter: 50_000 }), 1_000),
    );
    expect(wakes(retried, 1_000)).toBe(51_000);
    retried.when(tick(50_999)).leadsTo();
    expect(wakes(retried, 51_000)).toBe(61_000);
  });

  it('4.4: it goes on where it stood when a call is resumed', () => {
    const resumed = given(
      request(),
      place('t1', 4_000),
      answer('t1', interrupt('q'), 5_000),
      resume('q', 500_000),
    );
    expect(wakes(resumed, 500_000)).toBe(506_000);
  });
});

describe('the run clock', () => {
  const running = given(request({ placement: placement('t1') }));

  it('4.4: it runs from the dispatch', () => {
    expect(wakes(given(request(), place('t1', 4_000)), 4_000)).toBe(24_000);
    expect(wakes(running, 0)).toBe(20_000);
  });

  it('4.6: a run timeout of what is not safe to repeat ends the call, and says that it may be done', () => {
    running.when(tick(19_999)).leadsTo();
    const { call } = running.when(tick(20_000)).leadsTo(failedWith(1, 'run_timeout', MAYBE_DONE));
    expect(call.leases).toMatchObject([{ state: { kind: 'given_up' } }]);
  });

  it('4.2: attempts that a wide layer allows do not retry a run timeout of what is not safe to repeat', () => {
    given(request({ policy: { maxAttempts: 5 }, placement: placement('t1') }))
      .when(tick(20_000))
      .leadsTo(failedWith(1, 'run_timeout', MAYBE_DONE));
  });

  it('4.2: a run timeout of what is safe to repeat is retried, and the worker of the attempt is stopped', () => {
    const { call } = given(
      request({ policy: { maxAttempts: 2 }, safeToRepeat: true, placement: placement('t1') }),
    )
      .when(tick(20_000))
      .leadsTo(attemptFailed(1, 'run_timeout', { backoff: 500, answered: false }));
    expect(call.leases).toMatchObject([{ state: { kind: 'given_up' } }]);
  });

  it('4.2: it is not retried when no attempts are left', () => {
    const twice = { policy: { maxAttempts: 2 }, safeToRepeat: true, placement: placement('t1') };
    given(request(twice), tick(20_000), place('t2', 21_000))
      .when(tick(41_000))
      .leadsTo(failedWith(2, 'run_timeout', MAYBE_DONE));
  });

  it('4.4: each attempt has its own', () => {
    given(
      request({ policy: { maxAttempts: 2 }, safeToRepeat: true, placement: placement('t1') }),
      tick(20_000),
    )
      .when(place('t2', 20_500))
      .leadsTo(dispatched(2, 40_500));
  });

  it('4.4: a call without bounds never wakes anybody', () => {
    const none = { queueTimeout: undefined, runTimeout: undefined, totalTimeout: undefined };
    const unbounded = given(request({ policy: none }));
    expect(wakes(unbounded, 0)).toBeUndefined();
    unbounded.when(tick(10 ** 9)).leadsTo();
    const dispatchedThen = unbounded.when(place('t1', 5));
    expect(dispatchedThen.events[0]?.kind.value).toMatchObject({ attempt: 1 });
    expect(dispatchedThen.events[0]?.kind.value).toHaveProperty('deadline', undefined);
    expect(wakes(dispatchedThen, 5)).toBeUndefined();
  });

  it('4.4: clocks over 2^31 ms work', () => {
    const long = 2 ** 31 + 5;
    const far = given(request({ policy: { queueTimeout: long, totalTimeout: 2 * long } }));
    expect(wakes(far, 0)).toBe(long);
    far.when(tick(long - 1)).leadsTo();
    far.when(tick(long)).leadsTo(failedWith(1, 'queue_timeout'));
  });
});

describe('the heartbeat clock', () => {
  const policy = { heartbeatTimeout: 3_000 };
  const running = given(request({ policy, placement: placement('t1') }));
  const heardAt = (at: number): Heard => new Map([['t1', START + at]]);

  it('4.4: it runs from the dispatch until the worker reports', () => {
    expect(wakes(running, 0)).toBe(3_000);
    running.when(tick(2_999)).leadsTo();
    running.when(tick(3_000)).leadsTo(failedWith(1, 'heartbeat_timeout', MAYBE_DONE));
  });

  it('4.4: progress puts it off', () => {
    expect(wakes(running, 2_500, heardAt(2_500))).toBe(5_500);
    running.when(tick(5_499, heardAt(2_500))).leadsTo();
    running.when(tick(5_500, heardAt(2_500))).leadsTo(failedWith(1, 'heartbeat_timeout'));
  });

  it('4.4: it stands still while the worker is away, and the run clock does not', () => {
    const away: Heard = new Map([['t1', 'away']]);
    expect(wakes(running, 0, away)).toBe(20_000);
    running.when(tick(19_999, away)).leadsTo();
    running.when(tick(20_000, away)).leadsTo(failedWith(1, 'run_timeout'));
  });

  it('4.2: it is retried for what is safe to repeat', () => {
    given(request({ policy: { ...policy, maxAttempts: 2 }, safeToRepeat: true, placement: placement('t1') }))
      .when(tick(3_000))
      .leadsTo(attemptFailed(1, 'heartbeat_timeout', { backoff: 500, answered: false }));
  });

  it('4.4: what an earlier attempt reported says nothing about a later one', () => {
    const second = given(
      request({ policy: { ...policy, maxAttempts: 2 }, safeToRepeat: true, placement: placement('t1') }),
      tick(3_000),
      place('t2', 3_500),
    );
    expect(wakes(second, 3_500, heardAt(9_000))).toBe(6_500);
  });

  it('4.9: it does not run while the call is open', () => {
    const open = given(request({ policy, placement: placement('t1') }), answer('t1', defer(), 1_000));
    expect(wakes(open, 1_000)).toBe(100_000);
    open.when(tick(50_000, heardAt(1_000))).leadsTo();
  });
});

describe('time that stands still or goes back', () => {
  it('7.2: an event is never recorded before the one that it follows', () => {
    const early = given(request({}, 5_000)).when(place('t1', 1_000)).leadsTo(dispatched(1, 25_000));
    expect(early.session.occurredAt).toBe(START + 5_000);
  });

  it('7.2: a wall clock that was set back does not hold up a call that waits', () => {
    expect(wakes(given(request({}, 3_600_000)), 0)).toBe(3_610_000);
    given(request({ placement: placement('t1') }, 3_600_000), lose('t1', 'never_held', 0))
      .when(place('t2', 1))
      .leadsTo(dispatched(1, 3_620_000));
  });

  it('4.4: a tick at which no clock has run out changes nothing', () => {
    given(request()).when(tick(0)).leadsTo();
    given().when(tick(0)).leadsTo();
  });

  it('4.4: one tick looks at every call of a session', () => {
    const { events } = given(request(), request({ callId: 'c2' }), request({ callId: 'c3' }, 1)).when(
      tick(10_000),
    );
    expect(events.map(({ kind }) => kind.value)).toMatchObject([{ callId: 'c1' }, { callId: 'c2' }]);
    expect(wakes(given(request({}, 3), request({ callId: 'c2' }, 5)), 5)).toBe(10_003);
  });

  it('4.4: an answer that comes before the tick counts, though its clock has run out', () => {
    given(request({ placement: placement('t1') }))
      .when(answer('t1', result('just'), 30_000))
      .leadsTo(finishedWith(1, result('just').result));
  });

  it('4.3: a return after the queue clock has run out still leaves its end to the tick', () => {
    const back = given(request(), place('t1', 10_000))
      .when(reject('t1', 10_500))
      .leadsTo(requeued(1, 'rejected'));
    expect(wakes(back, 10_500)).toBe(10_500);
  });
});
