import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/core/command.ts';
import { effectName, isUnfinished, owed } from '../../src/core/owed.ts';
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
  result,
  resume,
  START,
  STOPPED,
  tick,
} from './commands.ts';
import { given } from './given.ts';

const RUNNING = request({ policy: { maxAttempts: 3 }, safeToRepeat: true, placement: placement('t1') });
const BUSY = failed('busy', { retryable: true });

function names(history: readonly Command[], at: number): string[] {
  return owed(given(...history).session, START + at).map(effectName);
}

describe('what a session owes', () => {
  it.each<[string, readonly Command[], number, readonly string[]]>([
    ['4.4: a worker for a call that waits', [request()], 0, ['place c1 1 0']],
    ['4.3: the frame of a dispatch', [RUNNING], 0, ['dispatch t1']],
    ['4.4: nothing while a call backs off', [RUNNING, answer('t1', BUSY, 0)], 499, []],
    [
      '4.2: a worker for the next attempt after that',
      [RUNNING, answer('t1', BUSY, 0)],
      500,
      ['place c1 2 1'],
    ],
    ['4.3: a worker again after a return', [RUNNING, reject('t1', 1)], 1, ['place c1 1 1']],
    ['6.11: nothing while a person is asked', [RUNNING, answer('t1', interrupt('q'), 1)], 10 ** 9, []],
    [
      '6.11: a worker after the answer',
      [RUNNING, answer('t1', interrupt('q'), 1), resume('q', 2)],
      2,
      ['place c1 1 1'],
    ],
    ['4.9: nothing while a call is open', [RUNNING, answer('t1', defer(), 1)], 2, []],
    ['4.10: a stop after a cancel', [RUNNING, cancel(1)], 1, ['stop t1']],
    [
      '4.4: a stop after a run timeout, beside the next attempt',
      [RUNNING, tick(20_000), place('t2', 20_500)],
      20_500,
      ['stop t1', 'dispatch t2'],
    ],
    ['4.10: no stop once the worker has answered it', [RUNNING, cancel(1), answer('t1', STOPPED, 2)], 2, []],
    ['4.5: nothing after a result', [RUNNING, answer('t1', result('done'), 1)], 1, []],
    [
      '7.2: a worker at once, though the wall clock was set back',
      [RUNNING, lose('t1', 'never_held', 1_000)],
      0,
      ['place c1 1 1'],
    ],
  ])('%s', (_, history, at, expected) => {
    expect(names(history, at)).toEqual(expected);
  });

  it('7.1: it is the same for the same state, however often one asks', () => {
    expect(names([RUNNING, tick(20_000)], 20_600)).toEqual(names([RUNNING, tick(20_000)], 20_600));
  });

  it('7.2: recovery loads what has a call that has not ended', () => {
    expect(isUnfinished(given().session)).toBe(false);
    expect(isUnfinished(given(request()).session)).toBe(true);
    expect(isUnfinished(given(RUNNING, answer('t1', interrupt('q'), 1)).session)).toBe(true);
    expect(isUnfinished(given(request(), cancel(1)).session)).toBe(false);
    expect(isUnfinished(given(request(), cancel(1), request({ callId: 'c2' })).session)).toBe(true);
  });
});
