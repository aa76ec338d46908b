import { describe, expect, it } from 'vitest';
import { failure } from '../../src/core/failure.ts';
import {
  answer,
  BAD_ARGUMENTS,
  CALL_ID,
  cancel,
  input,
  placement,
  request,
  result,
  START,
} from './commands.ts';
import { dispatched, failedWith, NOT_DONE, requested } from './expected.ts';
import { given } from './given.ts';

const REFUSED = { input: input('invalid'), inputFailure: BAD_ARGUMENTS };

describe('the request of a call', () => {
  it('4.1: the record has the merged policy, and whether a second attempt does harm', () => {
    const { call } = given(request({ policy: { maxAttempts: 3, runTimeout: 7_000 }, safeToRepeat: true }));
    expect(call).toMatchObject({ safeToRepeat: true, policy: { maxAttempts: 3, runTimeout: 7_000 } });
  });

  it('1.1: the record has the arguments as they were written', () => {
    const text = '{ "b":1.0, "a":9007199254740993 }\n';
    expect(given(request({ arguments: text })).call.arguments).toBe(text);
  });

  it('4.4: without a free worker the call waits, and its queue clock runs', () => {
    const { call } = given().when(request({}, 5)).leadsTo(requested());
    expect(call.phase).toEqual({ kind: 'waiting', from: START + 5, waited: 0 });
  });

  it('4.3: with a free worker it is requested and dispatched in one append', () => {
    const { call, events } = given()
      .when(request({ placement: placement('t1') }))
      .leadsTo(requested(), dispatched(1, 20_000, { workerName: 'w1' }));
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(call.leases).toMatchObject([{ token: 't1', instanceId: 'i1', streamNumber: 1, attempt: 1 }]);
  });

  it('4.4: the run clock of an attempt is never longer than what the total clock has left', () => {
    given()
      .when(request({ placement: placement('t1'), policy: { totalTimeout: 15_000 } }))
      .leadsTo(requested(), dispatched(1, 15_000));
  });

  it('who called, and the trace, are on the record and not on the wire to watchers', () => {
    const { events, call } = given().when(request());
    expect(events[0]?.journal?.caller).toMatchObject({ tenant: 'acme', subject: 'ann' });
    expect(events[0]?.kind.value).not.toHaveProperty('caller');
    expect(call.traceContext).toHaveProperty('traceparent');
  });
});

describe('the verdict on the arguments', () => {
  it.each([['invalid'], ['malformed']] as const)(
    '1.2: %s arguments reach the worker with their verdict',
    (verdict) => {
      const { call } = given()
        .when(request({ input: input(verdict), inputFailure: BAD_ARGUMENTS, placement: placement('t1') }))
        .leadsTo(requested(), dispatched(1, 20_000));
      expect(call.input?.status.case).toBe(verdict);
    },
  );

  it('1.2: where they must match, the call ends at once, with the error that the model reads, and no attempt', () => {
    given()
      .when(request({ ...REFUSED, requireValidInput: true, placement: placement('t1') }))
      .leadsTo(requested(), failedWith(0, 'invalid_arguments', NOT_DONE));
  });

  it('1.2: valid arguments are dispatched where they must match', () => {
    given()
      .when(request({ requireValidInput: true, placement: placement('t1') }))
      .leadsTo(requested(), dispatched(1, 20_000));
  });

  it('4.11: a call of a tool that is declared nowhere ends at once, and no attempt was made', () => {
    given()
      .when(request({ unservable: failure('unknown_tool', 'There is no tool charge.') }))
      .leadsTo(requested(), failedWith(0, 'unknown_tool', NOT_DONE));
  });
});

describe('a call id that is used again', () => {
  const later = { callId: CALL_ID, traceContext: {}, placement: placement('t9') };

  it.each([
    ['while it waits', [request()]],
    ['while it runs', [request({ placement: placement('t1') })]],
    ['after a result', [request({ placement: placement('t1') }), answer('t1', result('done'), 10)]],
    ['after a cancel', [request(), cancel(10)]],
  ])('4.12: the same name and argument bytes join the call %s', (_, history) => {
    const { session } = given(...history);
    const joined = given(...history)
      .when(request({ ...later, policy: { maxAttempts: 9 } }, 50))
      .leadsTo();
    expect(joined.session).toEqual(session);
  });

  it.each([
    ['another name', { name: 'refund' }],
    ['other arguments', { arguments: '{"amount":13}' }],
    ['other bytes of the same value', { arguments: '{"amount": 12}' }],
  ])('4.12: %s is a conflict, and changes nothing', (_, other) => {
    const { session } = given(request());
    const refused = given(request())
      .when(request({ ...later, ...other }, 50))
      .refused('call_id_conflict');
    expect(refused.session).toEqual(session);
  });

  it('4.12: a conflict is refused after the call has ended as well', () => {
    given(request(), cancel(10))
      .when(request({ name: 'refund' }, 50))
      .refused('call_id_conflict');
  });
});
