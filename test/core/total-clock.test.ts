import { describe, expect, it } from 'vitest';
import type { Command, Heard } from '../../src/core/command.ts';
import { wakeup } from '../../src/core/timers.ts';
import {
  answer,
  cancel,
  defer,
  failed,
  interrupt,
  lose,
  place,
  placement,
  reject,
  request,
  resume,
  START,
  tick,
} from './commands.ts';
import { attemptFailed, deferredUntil, dispatched, failedWith, MAYBE_DONE, NOT_DONE } from './expected.ts';
import { type Given, given } from './given.ts';

const NOBODY: Heard = new Map();

/** When the session wants to be looked at again, in milliseconds since START. */
function wakes({ session }: Pick<Given, 'session'>, now: number, heard: Heard = NOBODY): number | undefined {
  const at = wakeup(session, START + now, heard);
  return at === undefined ? undefined : at - START;
}

describe('the total clock', () => {
  const total = { totalTimeout: 5_000 };
  const repeatable = { policy: { maxAttempts: 9, ...total }, safeToRepeat: true };

  it.each<[string, readonly Command[], number, object]>([
    ['waits', [request(repeatable)], 0, NOT_DONE],
    ['waits again, unstarted', [request(repeatable), place('t1', 1), reject('t1', 2)], 0, NOT_DONE],
    ['runs', [request({ ...repeatable, placement: placement('t1') })], 1, MAYBE_DONE],
    ['is open', [request(repeatable), place('t1', 1), answer('t1', defer(), 2)], 1, MAYBE_DONE],
    [
      'backs off from a failure',
      [
        request(repeatable),
        place('t1', 1),
        answer('t1', failed('busy', { retryable: true, retryAfter: 4_000 }), 2),
      ],
      1,
      NOT_DONE,
    ],
    [
      'backs off from a loss',
      [request(repeatable), place('t1', 1), lose('t1', 'lost', 4_500, 0.4)],
      1,
      MAYBE_DONE,
    ],
    [
      'waits after a deferral that nobody settled',
      [request(repeatable), place('t1', 1), answer('t1', defer(100), 2), tick(102)],
      1,
      MAYBE_DONE,
    ],
  ])('4.4: it runs from the request while the call %s, and is final', (_, history, attempts, error) => {
    given(...history)
      .when(tick(4_999))
      .leadsTo();
    given(...history)
      .when(tick(5_000))
      .leadsTo(failedWith(attempts, 'total_timeout', error));
  });

  it('4.4: it stands still while the call waits for a person', () => {
    const asked = given(
      request({ policy: { ...total, queueTimeout: 60_000 }, placement: placement('t1') }),
      answer('t1', interrupt('q'), 1_000),
    );
    expect(wakes(asked, 1_000)).toBeUndefined();
    asked.when(tick(10 ** 9)).leadsTo();
    const resumed = asked.when(resume('q', 901_000));
    expect(wakes(resumed, 901_000)).toBe(905_000);
  });

  it('4.4: what stood still adds up over several interrupts', () => {
    const resumed = given(
      request({ policy: { ...total, queueTimeout: 60_000 }, placement: placement('t1') }),
      answer('t1', interrupt('q'), 1_000),
      resume('q', 11_000),
      place('t2', 12_000),
      answer('t2', interrupt('r'), 13_000),
      resume('r', 113_000),
    );
    resumed.when(tick(114_999)).leadsTo();
    resumed.when(tick(115_000)).leadsTo(failedWith(1, 'total_timeout', NOT_DONE));
  });

  it('4.2: no attempt begins that could only begin after it', () => {
    const started = given(request({ ...repeatable, placement: placement('t1') }));
    const asking = (retryAfter: number) => failed('busy', { retryable: true, retryAfter });
    started
      .when(answer('t1', asking(3_999), 1_000))
      .leadsTo(attemptFailed(1, 'busy', { backoff: 3_999, answered: true }));
    started.when(answer('t1', asking(4_000), 1_000)).leadsTo(failedWith(1, 'busy'));
  });

  it('4.4: nothing is dispatched once it is over, though nobody has looked yet', () => {
    given(request(repeatable)).when(place('t1', 5_000)).leadsTo();
    given(request(repeatable)).when(place('t1', 4_999)).leadsTo(dispatched(1, 5_000));
  });
});

describe('the deadline of a deferral', () => {
  const started = given(request({ placement: placement('t1') }));

  it('4.9: it is what the worker asked for', () => {
    const { session } = started.when(answer('t1', defer(7_000), 1_000)).leadsTo(deferredUntil(8_000));
    expect(wakes({ session }, 1_000)).toBe(8_000);
  });

  it('4.9: it stays within the total timeout, and is that where the worker names none', () => {
    started.when(answer('t1', defer(10 ** 7), 1_000)).leadsTo(deferredUntil(100_000));
    started.when(answer('t1', defer(), 1_000)).leadsTo(deferredUntil(100_000));
  });

  it('4.9: the run clock does not run meanwhile', () => {
    given(request({ placement: placement('t1') }), answer('t1', defer(), 1_000))
      .when(tick(99_999))
      .leadsTo();
  });

  it('4.6: past it the call ends, and may have taken effect', () => {
    given(request({ placement: placement('t1') }), answer('t1', defer(7_000), 1_000))
      .when(tick(8_000))
      .leadsTo(failedWith(1, 'run_timeout', MAYBE_DONE));
  });

  it('4.6: past it, what is safe to repeat is tried again, and an end of that still tells of the first', () => {
    const again = given(
      request({ policy: { maxAttempts: 2 }, safeToRepeat: true, placement: placement('t1') }),
      answer('t1', defer(7_000), 1_000),
    );
    const { session } = again
      .when(tick(8_000))
      .leadsTo(attemptFailed(1, 'run_timeout', { backoff: 500, answered: false }));
    expect(wakes({ session }, 8_000)).toBe(8_500);
    given(
      request({ policy: { maxAttempts: 2 }, safeToRepeat: true, placement: placement('t1') }),
      answer('t1', defer(7_000), 1_000),
      tick(8_000),
    )
      .when(cancel(8_100))
      .leadsTo(failedWith(1, 'cancelled', MAYBE_DONE));
  });
});
