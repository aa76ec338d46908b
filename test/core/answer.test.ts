import { describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type { Command, WorkerAnswer } from '../../src/core/command.ts';
import {
  ACCEPT,
  ACCEPT_NOTHING,
  answer,
  cancel,
  defer,
  failed,
  interrupt,
  lose,
  mismatch,
  place,
  placement,
  reject,
  request,
  result,
  START,
  STOPPED,
  settle,
  text,
  tick,
  UNFIT,
} from './commands.ts';
import {
  attemptFailed,
  deferredUntil,
  type dispatched,
  failedWith,
  finishedWith,
  interruptRaised,
  lateAnswer,
  MAYBE_DONE,
  NOT_DONE,
} from './expected.ts';
import { given } from './given.ts';

type Expected = ReturnType<typeof dispatched>;

const { RECORDED, DUPLICATE, STALE, REFUSED } = AnswerVerdict;
const RUNNING = request({ placement: placement('t1') });
const REPEATABLE = request({
  policy: { maxAttempts: 3 },
  safeToRepeat: true,
  placement: placement('t1'),
});
const BUSY = failed('busy', { retryable: true });

describe('an answer to a running dispatch', () => {
  it.each<[string, WorkerAnswer, AnswerVerdict, Expected]>([
    ['4.5: a result ends the call', result('done'), RECORDED, finishedWith(1, text('done'))],
    [
      '3.2: a result that breaks its schema',
      mismatch('/total: is no number'),
      REFUSED,
      failedWith(1, 'invalid_output', MAYBE_DONE),
    ],
    [
      '4.2: a failure that is not retryable ends the call',
      failed('no_funds'),
      RECORDED,
      failedWith(1, 'no_funds'),
    ],
    ['4.2: a retryable failure ends it where one attempt is all', BUSY, RECORDED, failedWith(1, 'busy')],
    [
      '1.2: a proposal that is accepted ends the call with it',
      ACCEPT,
      RECORDED,
      failedWith(1, 'invalid_arguments', NOT_DONE),
    ],
    ['5.12: an acceptance of nothing', ACCEPT_NOTHING, REFUSED, failedWith(1, 'invalid_answer', MAYBE_DONE)],
    ['5.12: a stop that nobody had asked for', STOPPED, REFUSED, failedWith(1, 'invalid_answer', MAYBE_DONE)],
    [
      '5.12: an answer that is unset or does not fit',
      UNFIT,
      REFUSED,
      failedWith(1, 'invalid_answer', MAYBE_DONE),
    ],
    ['4.9: a deferral leaves the call open', defer(), RECORDED, deferredUntil(100_000)],
    ['6.11: an interrupt makes it wait for a person', interrupt('q'), RECORDED, interruptRaised('q')],
  ])('%s', (_, what, verdict, expected) => {
    given(RUNNING)
      .when(answer('t1', what, 10))
      .leadsTo(expected)
      .answered(verdict);
  });

  it.each<[string, WorkerAnswer]>([
    ['invalid_output', mismatch('odd')],
    ['invalid_answer', UNFIT],
    ['invalid_arguments', ACCEPT],
  ])('4.2: %s is final, however many attempts are left of what is safe to repeat', (code, what) => {
    given(REPEATABLE)
      .when(answer('t1', what, 10))
      .leadsTo(failedWith(1, code));
  });

  it('4.2: a failure that is retryable is tried again, whether or not it is safe to repeat', () => {
    const { call } = given(request({ policy: { maxAttempts: 2 }, placement: placement('t1') }))
      .when(answer('t1', BUSY, 10, 0.25))
      .leadsTo(attemptFailed(1, 'busy', { backoff: 250, answered: true }))
      .answered(RECORDED);
    expect(call).toMatchObject({ attempt: 2, phase: { kind: 'waiting', from: START + 260 } });
    expect(call.leases).toMatchObject([{ state: { kind: 'answered' } }]);
  });

  it('4.2: one that is not retryable is not, whatever is left', () => {
    given(REPEATABLE)
      .when(answer('t1', failed('no_funds'), 10))
      .leadsTo(failedWith(1, 'no_funds'));
  });

  it('4.1: the wait that a failure asks for is kept', () => {
    given(REPEATABLE)
      .when(answer('t1', failed('rate_limited', { retryable: true, retryAfter: 7_000 }), 10))
      .leadsTo(attemptFailed(1, 'rate_limited', { backoff: 7_000, answered: true }));
  });

  it('4.1: waits grow from attempt to attempt, and attempts are counted', () => {
    given(REPEATABLE, answer('t1', BUSY, 0), place('t2', 500))
      .when(answer('t2', BUSY, 600))
      .leadsTo(attemptFailed(2, 'busy', { backoff: 1_000, answered: true }));
    given(REPEATABLE, answer('t1', BUSY, 0), place('t2', 500), answer('t2', BUSY, 600), place('t3', 1_600))
      .when(answer('t3', BUSY, 1_700))
      .leadsTo(failedWith(3, 'busy'));
  });

  it('4.5: a result after attempts that failed is a result', () => {
    given(REPEATABLE, answer('t1', BUSY, 0), place('t2', 500))
      .when(answer('t2', result('done'), 600))
      .leadsTo(finishedWith(2, text('done')));
  });
});

describe('an answer that comes again, or from elsewhere', () => {
  it.each<[string, readonly Command[], WorkerAnswer]>([
    ['a result', [answer('t1', result('done'), 5)], result('done')],
    ['a failure', [answer('t1', failed('no_funds'), 5)], failed('no_funds')],
    ['a mismatch', [answer('t1', mismatch('odd'), 5)], mismatch('odd')],
    ['an answer that did not fit', [answer('t1', UNFIT, 5)], UNFIT],
    ['an accepted proposal', [answer('t1', ACCEPT, 5)], ACCEPT],
    ['a deferral', [answer('t1', defer(), 5)], defer()],
    ['a deferral that was settled since', [answer('t1', defer(), 5), settle(result('done'), 6)], defer()],
    ['an interrupt', [answer('t1', interrupt('q'), 5)], interrupt('q')],
    [
      'a result after which the call was cancelled',
      [answer('t1', result('done'), 5), cancel(6)],
      result('done'),
    ],
  ])('4.5: %s again is a duplicate, and changes nothing', (_, history, again) => {
    given(RUNNING, ...history)
      .when(answer('t1', again, 9))
      .leadsTo()
      .answered(DUPLICATE);
  });

  it('4.5: a failure again is a duplicate while the next attempt waits, and while it runs', () => {
    const retried = [REPEATABLE, answer('t1', BUSY, 0)];
    given(...retried)
      .when(answer('t1', BUSY, 1))
      .leadsTo()
      .answered(DUPLICATE);
    given(...retried, place('t2', 500))
      .when(answer('t1', BUSY, 501))
      .leadsTo()
      .answered(DUPLICATE);
  });

  it('4.5: a result after the own answer of its attempt does not end the call', () => {
    given(REPEATABLE, answer('t1', BUSY, 0))
      .when(answer('t1', result('done'), 1))
      .leadsTo()
      .answered(DUPLICATE);
  });

  it('4.3: an answer from another instance is stale, and the dispatch runs on', () => {
    const { call } = given(RUNNING)
      .when({ ...answer('t1', result('forged'), 5), instanceId: 'i2' })
      .leadsTo()
      .answered(STALE);
    expect(call.phase.kind).toBe('dispatched');
  });

  it('4.5: an answer to a dispatch that nobody knows is stale', () => {
    given(RUNNING)
      .when(answer('t9', result('odd'), 5))
      .leadsTo()
      .answered(STALE);
    given()
      .when(answer('t9', result('odd'), 5))
      .leadsTo()
      .answered(STALE);
  });
});

describe('an answer that comes late', () => {
  const LOST = [REPEATABLE, lose('t1', 'lost', 1_000)];

  it.each<[string, Command]>([
    ['a run timeout', tick(20_000)],
    ['a lost worker', lose('t1', 'lost', 20_000)],
  ])(
    '4.5: after %s a late result for the newest attempt ends the call before the next dispatch',
    (_, end) => {
      const { call } = given(REPEATABLE, end)
        .when(answer('t1', result('done'), 20_100))
        .leadsTo(finishedWith(1, text('done')))
        .answered(RECORDED);
      expect(call.leases).toMatchObject([{ state: { kind: 'answered' } }]);
    },
  );

  it('4.5: it does so after the backoff as well, as long as nothing is dispatched', () => {
    given(...LOST)
      .when(answer('t1', result('done'), 9_000))
      .leadsTo(finishedWith(1, text('done')));
  });

  it('4.5: and the same again is a duplicate', () => {
    given(...LOST, answer('t1', result('done'), 1_100))
      .when(answer('t1', result('done'), 1_200))
      .leadsTo()
      .answered(DUPLICATE);
  });

  it('4.5: once the next attempt is dispatched it changes nothing, and is recorded', () => {
    const { call } = given(...LOST, place('t2', 1_500))
      .when(answer('t1', result('done'), 1_600))
      .leadsTo(lateAnswer(1, 'result'))
      .answered(STALE);
    expect(call).toMatchObject({ attempt: 2, phase: { kind: 'dispatched' } });
    expect(call.leases).toMatchObject([{ state: { kind: 'late' } }, { state: { kind: 'running' } }]);
  });

  it('4.5: nor when that dispatch came back unstarted', () => {
    given(...LOST, place('t2', 1_500), reject('t2', 1_501))
      .when(answer('t1', result('done'), 1_600))
      .leadsTo(lateAnswer(1, 'result'))
      .answered(STALE);
  });

  it('4.5: nor when a later attempt was lost as well: it is not the newest', () => {
    given(...LOST, place('t2', 1_500), lose('t2', 'lost', 1_501))
      .when(answer('t1', result('done'), 1_600))
      .leadsTo(lateAnswer(1, 'result'))
      .answered(STALE);
  });

  it.each<[string, WorkerAnswer, 'result' | 'error' | undefined]>([
    ['a failure', BUSY, 'error'],
    ['a result that breaks its schema', mismatch('odd'), 'result'],
    ['a deferral', defer(), undefined],
    ['an interrupt', interrupt('q'), undefined],
    ['a stop', STOPPED, undefined],
    ['an accepted proposal', ACCEPT, undefined],
    ['an answer that does not fit', UNFIT, undefined],
  ])('4.5: late, %s changes nothing, and is recorded once', (_, what, outcome) => {
    const { call } = given(...LOST)
      .when(answer('t1', what, 1_100))
      .leadsTo(lateAnswer(1, outcome))
      .answered(STALE);
    expect(call).toMatchObject({ attempt: 2, phase: { kind: 'waiting' } });
    given(...LOST, answer('t1', what, 1_100))
      .when(answer('t1', what, 1_200))
      .leadsTo()
      .answered(STALE);
  });

  it.each<[string, readonly Command[]]>([
    ['was cancelled', [RUNNING, cancel(10)]],
    ['ran out of time', [RUNNING, tick(20_000)]],
    ['was lost', [RUNNING, lose('t1', 'lost', 10)]],
    ['was settled from outside', [RUNNING, settle(result('other'), 10)]],
  ])('4.5: after a call that %s it is recorded once, and the outcome stays', (_, history) => {
    const { phase } = given(...history).call;
    const { call } = given(...history)
      .when(answer('t1', result('done'), 30_000))
      .leadsTo(lateAnswer(1, 'result'))
      .answered(STALE);
    expect(call.phase).toEqual(phase);
    given(...history, answer('t1', result('done'), 30_000))
      .when(answer('t1', result('done'), 30_001))
      .leadsTo()
      .answered(STALE);
  });

  it('4.10: a handler that stopped after a cancel leaves nothing to tell its worker', () => {
    const { call } = given(RUNNING, cancel(10))
      .when(answer('t1', STOPPED, 20))
      .leadsTo(lateAnswer(1, undefined));
    expect(call.leases).toMatchObject([{ state: { kind: 'late' } }]);
  });
});
