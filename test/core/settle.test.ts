import { describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import type { Command } from '../../src/core/command.ts';
import {
  answer,
  cancel,
  defer,
  failed,
  interrupt,
  lose,
  mismatch,
  place,
  placement,
  request,
  result,
  settle,
  text,
} from './commands.ts';
import { failedWith, finishedWith, lateAnswer } from './expected.ts';
import { given } from './given.ts';

const { RECORDED, DUPLICATE, STALE, REFUSED } = AnswerVerdict;
const RUNNING = request({ policy: { maxAttempts: 3 }, safeToRepeat: true, placement: placement('t1') });
const LOST = [RUNNING, lose('t1', 'lost', 10)];

describe('an answer from outside', () => {
  it.each<[string, readonly Command[]]>([
    ['open', [RUNNING, answer('t1', defer(), 10)]],
    ['dispatched', [RUNNING]],
  ])('4.9: it ends a call that is %s', (_, history) => {
    given(...history)
      .when(settle(result('done'), 20))
      .leadsTo(finishedWith(1, text('done')))
      .answered(RECORDED);
  });

  it('4.9: before the deferral it ends the call, and the deferral is stale', () => {
    given(RUNNING, settle(result('done'), 20))
      .when(answer('t1', defer(), 21))
      .leadsTo(lateAnswer(1, undefined))
      .answered(STALE);
  });

  it('4.9: an error ends the call, without a retry', () => {
    given(RUNNING, answer('t1', defer(), 10))
      .when(settle(failed('busy', { retryable: true }), 20))
      .leadsTo(failedWith(1, 'busy'))
      .answered(RECORDED);
  });

  it('3.2: a result that breaks its schema ends the call with invalid_output', () => {
    given(RUNNING, answer('t1', defer(), 10))
      .when(settle(mismatch('/total: is no number'), 20))
      .leadsTo(failedWith(1, 'invalid_output', { message: expect.stringContaining('/total: is no number') }))
      .answered(REFUSED);
  });

  it('4.9: it is counted for the attempt that it ends', () => {
    given(...LOST, place('t2', 600), answer('t2', defer(), 700))
      .when(settle(result('done'), 800, 2))
      .leadsTo(finishedWith(2, text('done')));
  });

  it.each<[string, readonly Command[], number]>([
    ['waits', [request()], 0],
    ['backs off', LOST, 0],
    ['waits for a person', [RUNNING, answer('t1', interrupt('q'), 10)], 0],
    ['runs in a later attempt', [...LOST, place('t2', 600)], 1],
    ['has not come to that attempt', [RUNNING], 2],
  ])('4.9: a call that %s refuses it, and stays as it is', (_, history, attempt) => {
    const { session } = given(...history);
    const after = given(...history)
      .when(settle(result('done'), 700, attempt))
      .refused('call_not_open');
    expect(after.session).toEqual(session);
  });

  it('a call that nobody knows refuses it', () => {
    given()
      .when(settle(result('done'), 20))
      .refused('call_not_found');
  });

  it('4.5: the same again is a duplicate', () => {
    given(RUNNING, settle(result('done'), 20))
      .when(settle(result('done'), 21))
      .leadsTo()
      .answered(DUPLICATE);
    given(RUNNING, settle(failed('no'), 20))
      .when(settle(failed('no'), 21))
      .leadsTo()
      .answered(DUPLICATE);
  });

  it.each<[string, readonly Command[]]>([
    ['another result came first', [RUNNING, settle(result('other'), 20)]],
    ['a failure came first', [RUNNING, settle(failed('no'), 20)]],
    ['the worker answered first', [RUNNING, answer('t1', result('other'), 20)]],
    ['the call was cancelled', [RUNNING, answer('t1', defer(), 10), cancel(20)]],
  ])('4.5: after %s it is stale', (_, history) => {
    const { session } = given(...history);
    const after = given(...history)
      .when(settle(result('done'), 30))
      .leadsTo()
      .answered(STALE);
    expect(after.session).toEqual(session);
  });
});
