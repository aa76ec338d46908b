import { describe, expect, it } from 'vitest';
import type { Command } from '../../src/core/command.ts';
import {
  answer,
  cancel,
  failed,
  interrupt,
  lose,
  place,
  placement,
  reject,
  request,
  resume,
} from './commands.ts';
import { dispatched, failedWith, interruptResumed, MAYBE_DONE, requeued } from './expected.ts';
import { given } from './given.ts';

const RUNNING = request({ policy: { maxAttempts: 3 }, safeToRepeat: true, placement: placement('t1') });
const BUSY = failed('busy', { retryable: true });

describe('an interrupt that a call raised', () => {
  const ASKED = [RUNNING, answer('t1', interrupt('q'), 1_000)];

  it('6.11: resumed, the same attempt waits again, uncharged and with the answer', () => {
    const { call } = given(...ASKED)
      .when(resume('q', 900_000))
      .leadsTo(interruptResumed('q'), requeued(1, 'resumed'));
    expect(call).toMatchObject({ attempt: 1, requeues: 0, pausedFor: 899_000 });
    expect(call.resumed).toMatchObject({ interruptId: 'q', payloadJson: '"yes"' });
  });

  it('4.4: the next dispatch has the whole run clock, and what the total clock had left', () => {
    given(...ASKED, resume('q', 900_000))
      .when(place('t2', 900_000))
      .leadsTo(dispatched(1, 920_000));
  });

  it('6.11: the answer stays with the attempt over a requeue, and not with the next attempt', () => {
    const again = [...ASKED, resume('q', 2_000), place('t2', 2_100)];
    expect(given(...again, reject('t2', 2_200), place('t3', 2_300)).call.resumed).toBeDefined();
    expect(given(...again, answer('t2', BUSY, 2_200)).call).toMatchObject({ attempt: 2, resumed: undefined });
  });

  it('6.11: denied, the call ends with the text for the model, and nothing was done', () => {
    given(...ASKED)
      .when(resume('q', 2_000, 'Not on a Friday.'))
      .leadsTo(
        interruptResumed('q'),
        failedWith(1, 'denied', { message: 'Not on a Friday.', mayHaveTakenEffect: false }),
      );
  });

  it('6.11: denied without a text, it says what was denied', () => {
    given(...ASKED)
      .when(resume('q', 2_000, ''))
      .leadsTo(interruptResumed('q'), failedWith(1, 'denied', { message: 'charge was denied.' }));
  });

  it('4.6: denied after an attempt that was lost, it tells of that one', () => {
    given(RUNNING, lose('t1', 'lost', 1), place('t2', 600), answer('t2', interrupt('q'), 700))
      .when(resume('q', 2_000, 'Not on a Friday'))
      .leadsTo(interruptResumed('q'), failedWith(2, 'denied', MAYBE_DONE));
  });

  it.each<[string, readonly Command[]]>([
    ['that was answered', [...ASKED, resume('q', 2_000)]],
    ['that was denied', [...ASKED, resume('q', 2_000, 'No.')]],
    ['of a call that was cancelled meanwhile', [...ASKED, cancel(2_000)]],
  ])('6.11: an answer to one %s changes nothing', (_, history) => {
    given(...history)
      .when(resume('q', 3_000))
      .leadsTo();
    given(...history)
      .when(resume('q', 3_000, 'No.'))
      .leadsTo();
  });

  it('6.11: an answer finds its own interrupt among several', () => {
    const sibling = request({ callId: 'c2', placement: placement('s1') });
    const both = given(...ASKED, sibling, answer('s1', interrupt('r'), 1_500));
    const { session } = both.when(resume('r', 2_000));
    expect(session.calls.get('c1')).toMatchObject({ phase: { kind: 'interrupted', interruptId: 'q' } });
    expect(session.calls.get('c2')).toMatchObject({ phase: { kind: 'waiting' } });
    both.when(resume('other', 2_000)).refused('interrupt_not_found');
  });

  it('6.11: siblings run on', () => {
    const sibling = request({ callId: 'c2', placement: placement('s1') });
    const { session } = given(...ASKED, sibling).when(resume('q', 2_000));
    expect(session.calls.get('c2')).toMatchObject({ phase: { kind: 'dispatched' } });
  });

  it('6.11: a second interrupt of the same attempt takes the place of the first answer', () => {
    const { call } = given(
      ...ASKED,
      resume('q', 2_000),
      place('t2', 2_100),
      answer('t2', interrupt('r'), 2_200),
    )
      .when(resume('r', 3_000))
      .leadsTo(interruptResumed('r'), requeued(1, 'resumed'));
    expect(call.resumed).toMatchObject({ interruptId: 'r' });
  });
});
