import { describe, expect, it } from 'vitest';
import { CancelReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import type { Command } from '../../src/core/command.ts';
import { FAILURE_CODES } from '../../src/core/failure.ts';
import {
  answer,
  cancel,
  checkpoint,
  defer,
  disown,
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
  settle,
  tick,
} from './commands.ts';
import { checkpointed, failedWith, finishedWith, MAYBE_DONE, NOT_DONE } from './expected.ts';
import { given } from './given.ts';

const RUNNING = request({ policy: { maxAttempts: 3 }, safeToRepeat: true, placement: placement('t1') });
const BUSY = failed('busy', { retryable: true });

describe('a cancel', () => {
  it.each<[string, readonly Command[], number, object]>([
    ['waits', [request()], 0, NOT_DONE],
    ['waits after its dispatch came back', [RUNNING, reject('t1', 1)], 0, NOT_DONE],
    ['runs', [RUNNING], 1, MAYBE_DONE],
    ['is open', [RUNNING, answer('t1', defer(), 1)], 1, MAYBE_DONE],
    ['waits for a person', [RUNNING, answer('t1', interrupt('q'), 1)], 1, NOT_DONE],
    [
      'waits after a person answered',
      [RUNNING, answer('t1', interrupt('q'), 1), resume('q', 2)],
      1,
      NOT_DONE,
    ],
    ['backs off from a failure', [RUNNING, answer('t1', BUSY, 1)], 1, NOT_DONE],
    ['backs off from a loss', [RUNNING, lose('t1', 'lost', 1)], 1, MAYBE_DONE],
    ['runs again', [RUNNING, answer('t1', BUSY, 1), place('t2', 600)], 2, MAYBE_DONE],
    [
      'waits for a person after a loss',
      [RUNNING, lose('t1', 'lost', 1), place('t2', 600), answer('t2', interrupt('q'), 601)],
      2,
      MAYBE_DONE,
    ],
  ])(
    '4.6: it ends a call that %s, and says whether that may have taken effect',
    (_, history, attempts, error) => {
      given(...history)
        .when(cancel(700))
        .leadsTo(failedWith(attempts, 'cancelled', error));
    },
  );

  it('4.10: its reason is in the failure, and its worker is told to stop', () => {
    const { call } = given(RUNNING)
      .when(cancel(10, 'the user left'))
      .leadsTo(failedWith(1, 'cancelled', { message: expect.stringContaining('the user left') }));
    expect(call.leases).toMatchObject([{ state: { kind: 'given_up', stop: CancelReason.CANCELLED } }]);
  });

  it.each<[string, readonly Command[]]>([
    ['a result', [RUNNING, answer('t1', result('done'), 1)]],
    ['a failure', [RUNNING, answer('t1', failed('no_funds'), 1)]],
    ['a cancel', [RUNNING, cancel(1)]],
  ])('4.5: after %s it changes nothing', (_, history) => {
    given(...history)
      .when(cancel(10))
      .leadsTo();
  });

  it('a call that nobody knows is refused', () => {
    given().when(cancel(10)).refused('call_not_found');
  });
});

describe('why a worker is told to stop', () => {
  it.each<[string, Command, CancelReason]>([
    ['4.10: a cancel', cancel(5), CancelReason.CANCELLED],
    ['4.4: a run timeout', tick(20_000, new Map([['t1', 'away']])), CancelReason.DEADLINE],
    ['4.4: a total timeout', tick(100_000), CancelReason.DEADLINE],
    ['4.4: a heartbeat timeout', tick(15_000, new Map([['t1', START]])), CancelReason.DEADLINE],
    ['4.9: an answer from outside', settle(result('done'), 5), CancelReason.SUPERSEDED],
    ['4.6: a loss, where it comes back', lose('t1', 'lost', 5), CancelReason.SUPERSEDED],
  ])('%s', (_, command, stop) => {
    const beating = request({ policy: { heartbeatTimeout: 15_000 }, placement: placement('t1') });
    const { call } = given(beating).when(command);
    expect(call.leases).toMatchObject([{ token: 't1', state: { kind: 'given_up', stop } }]);
  });
});

describe('a checkpoint', () => {
  it('4.5: it is kept for later dispatches, of this attempt and of the next', () => {
    const { call } = given(RUNNING)
      .when(checkpoint('t1', [1, 2], 5))
      .leadsTo(checkpointed(1));
    expect(call.checkpoint).toEqual(Uint8Array.of(1, 2));
    const second = given(RUNNING, checkpoint('t1', [1], 5), lose('t1', 'lost', 6), place('t2', 600));
    expect(second.call.checkpoint).toEqual(Uint8Array.of(1));
    expect(second.when(checkpoint('t2', [3], 700)).call.checkpoint).toEqual(Uint8Array.of(3));
  });

  it.each<[string, readonly Command[]]>([
    ['answered', [RUNNING, answer('t1', defer(), 1)]],
    ['given up', [RUNNING, lose('t1', 'lost', 1)]],
    ['returned', [RUNNING, reject('t1', 1)]],
    ['of an ended call', [RUNNING, cancel(1)]],
    ['unknown', []],
  ])('4.5: of a dispatch that is %s it changes nothing', (_, history) => {
    given(...history)
      .when(checkpoint('t1', [1], 5))
      .leadsTo();
  });
});

describe('a call that no worker will serve', () => {
  it('4.11: while it waits it ends with unknown_tool', () => {
    given(request({ toolDigest: '' }))
      .when(disown(30_000))
      .leadsTo(failedWith(0, 'unknown_tool', NOT_DONE));
  });

  it('4.11: one that runs, or has ended, does not', () => {
    given(RUNNING).when(disown(10)).leadsTo();
    given(request(), cancel(1)).when(disown(10)).leadsTo();
    given().when(disown(10)).leadsTo();
  });
});

describe('the calls of one session', () => {
  it('4.5: what happens to one leaves the others alone', () => {
    const { session } = given(request(), request({ callId: 'c2', placement: placement('s1') }));
    const after = given(request(), request({ callId: 'c2', placement: placement('s1') }))
      .when(answer('s1', result('done'), 10))
      .leadsTo({ case: 'toolCallFinished', value: { callId: 'c2' } });
    expect(after.session.calls.get('c1')).toEqual(session.calls.get('c1'));
  });

  it('7.2: events are numbered without a gap, over all of them', () => {
    const { events } = given(request(), request({ callId: 'c2' }), cancel(5)).when(
      request({ callId: 'c3', placement: placement('t1') }, 6),
    );
    expect(events.map(({ sequence }) => sequence)).toEqual([4, 5]);
    expect(events.map(({ sessionId }) => sessionId)).toEqual(['call:c1', 'call:c1']);
  });

  it('4.5: the end of a call is recorded with the dispatch whose answer it was', () => {
    const { events } = given(RUNNING)
      .when(answer('t1', result('done'), 10))
      .leadsTo(finishedWith(1, result('done').result));
    expect(events[0]?.journal?.leaseToken).toBe('t1');
  });
});

describe('the codes of failures', () => {
  it('4.8: each is named once, in lower case', () => {
    expect(new Set(FAILURE_CODES).size).toBe(FAILURE_CODES.length);
    expect(FAILURE_CODES.filter((code) => !/^[a-z_]+$/.test(code))).toEqual([]);
  });
});
