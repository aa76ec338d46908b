import { describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type { Command } from '../../src/core/command.ts';
import { MAX_REJECT_REASON_CHARS, MAX_REQUEUES } from '../../src/core/limits.ts';
import {
  answer,
  BAD_ARGUMENTS,
  cancel,
  failed,
  input,
  lose,
  place,
  placement,
  reject,
  request,
  result,
  tick,
} from './commands.ts';
import {
  attemptFailed,
  dispatched,
  failedWith,
  lateAnswer,
  MAYBE_DONE,
  NOT_DONE,
  requeued,
} from './expected.ts';
import { given } from './given.ts';

const RETRIED = { policy: { maxAttempts: 2 }, safeToRepeat: true };

/** A dispatch and its return, over and over; the tokens are `r1`, `r2`, … */
function returns(count: number, from: number, prefix = 'r'): Command[] {
  return Array.from({ length: count }, (_, index) => [
    place(`${prefix}${index + 1}`, from + index),
    reject(`${prefix}${index + 1}`, from + index),
  ]).flat();
}

describe('a placement', () => {
  it('4.3: it dispatches a call that waits, bound to one stream', () => {
    const { call, events } = given(request())
      .when(place('t1', 2_000, { streamNumber: 7, instanceId: 'i9', workerName: 'w9' }))
      .leadsTo(dispatched(1, 22_000, { workerName: 'w9' }));
    expect(events[0]?.journal).toMatchObject({
      leaseToken: 't1',
      workerInstanceId: 'i9',
      workerStreamNumber: 7,
    });
    expect(call.leases).toMatchObject([{ token: 't1', instanceId: 'i9', streamNumber: 7 }]);
  });

  it.each<[string, readonly Command[]]>([
    ['that runs already', [request({ placement: placement('t0') })]],
    ['that has ended', [request(), cancel(1)]],
    [
      'that backs off',
      [
        request({ ...RETRIED, placement: placement('t0') }),
        answer('t0', failed('busy', { retryable: true }), 1),
      ],
    ],
    ['that nobody knows', []],
  ])('4.3: it does nothing for a call %s', (_, history) => {
    given(...history)
      .when(place('t1', 500))
      .leadsTo();
  });

  it('4.4: a backoff is over at its very instant', () => {
    given(
      request({ ...RETRIED, placement: placement('t0') }),
      answer('t0', failed('busy', { retryable: true }), 1),
    )
      .when(place('t1', 501))
      .leadsTo(dispatched(2, 20_501));
  });

  it('5.11: under another definition the dispatch says which, and what the arguments are there', () => {
    const recheck = { toolDigest: 'digest-b', input: input('invalid'), inputFailure: BAD_ARGUMENTS };
    const { call } = given(request())
      .when(place('t1', 1, { recheck }))
      .leadsTo(dispatched(1, 20_001, { toolDigest: 'digest-b', input: { status: { case: 'invalid' } } }));
    expect(call).toMatchObject({ toolDigest: 'digest-a', input: { status: { case: 'valid' } } });
    expect(call.leases).toMatchObject([{ toolDigest: 'digest-b', input: { status: { case: 'invalid' } } }]);
  });

  it('5.11: under the definition of the call the dispatch repeats nothing', () => {
    const { call } = given(request(), place('t1', 1));
    expect(call.leases).toMatchObject([{ toolDigest: '', input: undefined }]);
  });

  it('1.2: arguments that must match, and do not under another definition, end the call before any attempt', () => {
    const recheck = { toolDigest: 'digest-b', input: input('invalid'), inputFailure: BAD_ARGUMENTS };
    given(request({ requireValidInput: true }))
      .when(place('t1', 1, { recheck }))
      .leadsTo(failedWith(0, 'invalid_arguments', NOT_DONE));
    given(request({ ...RETRIED, requireValidInput: true, placement: placement('t0') }), lose('t0', 'lost', 5))
      .when(place('t1', 600, { recheck }))
      .leadsTo(failedWith(1, 'invalid_arguments'));
  });

  it('5.11: arguments that match under another definition are dispatched where they must match', () => {
    const recheck = { toolDigest: 'digest-b', input: input('valid'), inputFailure: undefined };
    given(request({ requireValidInput: true }))
      .when(place('t1', 1, { recheck }))
      .leadsTo(dispatched(1, 20_001, { toolDigest: 'digest-b' }));
  });
});

describe('a dispatch that comes back unstarted', () => {
  it.each<[string, Command]>([
    ['rejected', reject('t1', 5)],
    ['never_held', lose('t1', 'never_held', 5)],
    ['never_sent', lose('t1', 'never_sent', 5)],
  ])('4.3: %s, it is requeued: same attempt, not charged, even if not safe to repeat', (reason, command) => {
    const { call } = given(request({ placement: placement('t1') }))
      .when(command)
      .leadsTo(requeued(1, reason));
    expect(call).toMatchObject({ attempt: 1, requeues: 1, phase: { kind: 'waiting' } });
    expect(call.leases).toMatchObject([{ state: { kind: 'returned' } }]);
  });

  it('4.3: the next dispatch is the same attempt under a new lease', () => {
    const { call } = given(request({ placement: placement('t1') }), reject('t1', 5))
      .when(place('t2', 6))
      .leadsTo(dispatched(1, 20_006));
    expect(call.leases.map(({ token, attempt }) => [token, attempt])).toEqual([
      ['t1', 1],
      ['t2', 1],
    ]);
  });

  it(`4.3: the ${MAX_REQUEUES}th return of an attempt ends it with rejected, and nothing was started`, () => {
    const last = MAX_REQUEUES - 1;
    const almost = given(request(), ...returns(last, 1), place('t1', 100));
    expect(almost.call.requeues).toBe(15);
    const { call } = almost
      .when(reject('t1', 101))
      .leadsTo(requeued(1, 'rejected'), failedWith(1, 'rejected', NOT_DONE));
    expect(call.leases.at(-1)).toMatchObject({ state: { kind: 'returned' } });
  });

  it.each<[string, Command, string]>([
    [
      'in the words of the worker',
      { ...reject('t1', 101), reason: 'no GPU\nis\u0007 free.' } as Command,
      'because: no GPU is free.',
    ],
    [
      'cut, where there are many',
      { ...reject('t1', 101), reason: 'x'.repeat(10_000) } as Command,
      `because: ${'x'.repeat(MAX_REJECT_REASON_CHARS - 1)}….`,
    ],
    ['or that there is none', { ...reject('t1', 101), reason: '' } as Command, 'without a reason.'],
    ['or that the worker never had it', lose('t1', 'never_held', 101), 'because its worker never had it.'],
  ])('4.3: rejected says why the last one came back, %s', (_, command, words) => {
    const { call } = given(request(), ...returns(MAX_REQUEUES - 1, 1), place('t1', 100)).when(command);
    expect(call.phase).toMatchObject({
      end: {
        outcome: {
          case: 'error',
          value: {
            message: `charge was not started: it came back from workers 16 times, the last time ${words}`,
          },
        },
      },
    });
  });

  it('4.3: the next attempt, where one is left, has returns of its own', () => {
    const last = MAX_REQUEUES - 1;
    const retried = given(request({ policy: { maxAttempts: 2 } }), ...returns(last, 1), place('t1', 100));
    const { call } = retried
      .when(lose('t1', 'never_held', 101))
      .leadsTo(requeued(1, 'never_held'), attemptFailed(1, 'rejected', { backoff: 500, answered: false }));
    expect(call).toMatchObject({ attempt: 2, requeues: 0, phase: { kind: 'waiting', waited: 0 } });
  });

  it('4.6: rejected tells of an earlier attempt that may have taken effect', () => {
    const history = [request({ ...RETRIED, placement: placement('t1') }), lose('t1', 'lost', 5)];
    given(...history, ...returns(MAX_REQUEUES - 1, 600), place('t2', 700))
      .when(reject('t2', 701))
      .leadsTo(requeued(2, 'rejected'), failedWith(2, 'rejected', MAYBE_DONE));
  });

  it.each<[string, Command]>([
    ['another instance', { ...reject('t1', 5), instanceId: 'i2' } as Command],
    ['a dispatch that nobody knows', reject('t9', 5)],
    ['a loss of a dispatch that nobody knows', lose('t9', 'lost', 5)],
  ])('4.3: from %s it changes nothing', (_, command) => {
    given(request({ placement: placement('t1') }))
      .when(command)
      .leadsTo();
  });

  it.each<[string, readonly Command[]]>([
    ['answered', [answer('t1', result('done'), 3)]],
    ['returned', [reject('t1', 3)]],
    ['given up', [tick(20_000)]],
    ['of a call that was cancelled', [cancel(3)]],
  ])('4.3: a return or a loss of a dispatch that is %s changes nothing', (_, history) => {
    const over = given(request({ placement: placement('t1') }), ...history);
    over.when(reject('t1', 20_001)).leadsTo();
    over.when(lose('t1', 'lost', 20_001)).leadsTo();
    over.when(lose('t1', 'never_sent', 20_001)).leadsTo();
  });

  it('4.5: an answer that comes all the same is recorded as late, once', () => {
    const back = [request({ placement: placement('t1') }), reject('t1', 5)];
    given(...back)
      .when(answer('t1', result('done'), 6))
      .leadsTo(lateAnswer(1, 'result'))
      .answered(AnswerVerdict.STALE);
    given(...back, answer('t1', result('done'), 6))
      .when(answer('t1', result('done'), 7))
      .leadsTo()
      .answered(AnswerVerdict.STALE);
  });

  it('4.6: after such an answer the call may have taken effect', () => {
    given(request({ placement: placement('t1') }), reject('t1', 5), answer('t1', result('done'), 6))
      .when(cancel(7))
      .leadsTo(failedWith(1, 'cancelled', MAYBE_DONE));
  });
});

describe('a worker that is lost', () => {
  it('4.6: what is not safe to repeat ends with outcome_unknown, and may have taken effect', () => {
    const { call } = given(request({ policy: { maxAttempts: 5 }, placement: placement('t1') }))
      .when(lose('t1', 'lost', 5))
      .leadsTo(failedWith(1, 'outcome_unknown', MAYBE_DONE));
    expect(call.leases).toMatchObject([{ state: { kind: 'given_up' } }]);
  });

  it('4.2: what is safe to repeat is tried again', () => {
    const { call } = given(request({ ...RETRIED, placement: placement('t1') }))
      .when(lose('t1', 'lost', 5))
      .leadsTo(attemptFailed(1, 'outcome_unknown', { backoff: 500, answered: false }));
    expect(call).toMatchObject({ attempt: 2, phase: { kind: 'waiting' } });
  });

  it('4.6: with its attempts used up, what is safe to repeat ends with outcome_unknown as well', () => {
    given(request({ ...RETRIED, placement: placement('t1') }), lose('t1', 'lost', 5), place('t2', 600))
      .when(lose('t2', 'lost', 700))
      .leadsTo(failedWith(2, 'outcome_unknown', MAYBE_DONE));
  });
});
