import { describe, expect, it } from 'vitest';
import { hello, textResult, virtualEngine } from './virtual.ts';

describe('a call id that is used again', () => {
  it('4.12: joins the call while it runs, and both hear its end', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const first = spindle.call({ name: 't', callId: 'one' });
    await spindle.settle();
    const second = spindle.call({ name: 't', callId: 'one' });
    await spindle.settle();
    expect(worker.dispatches()).toHaveLength(1);
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    expect(first.end?.outcome.case).toBe('result');
    expect(second.end).toEqual(first.end);
  });

  it('4.12: joins the call before it is on record', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    spindle.journal.hold();
    const first = spindle.call({ name: 't', callId: 'one' });
    const second = spindle.call({ name: 't', callId: 'one' });
    spindle.journal.letGo();
    await spindle.settle();
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    expect(worker.dispatches()).toHaveLength(1);
    expect(second.end).toEqual(first.end);
    expect(first.end?.outcome.case).toBe('result');
  });

  it('4.12: a joiner whose request is decided together with the answer hears the end', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const first = spindle.call({ name: 't', callId: 'one' });
    await spindle.settle();
    const { leaseToken } = worker.execute(0);
    spindle.journal.hold();
    // The checkpoint keeps the mailbox busy, so that both wait in it and are decided at once.
    await worker.send({ case: 'progress', value: { leaseToken, checkpoint: new Uint8Array([1]) } });
    const second = spindle.call({ name: 't', callId: 'one' });
    await worker.answer(leaseToken, textResult('done'));
    spindle.journal.letGo();
    await spindle.settle();
    expect(first.end?.outcome.case).toBe('result');
    expect(second.end).toEqual(first.end);
  });

  it('4.12: gets the end of a call that has ended, from memory and from the journal', async () => {
    let spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const first = spindle.call({ name: 't', callId: 'one' });
    await spindle.settle();
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    const again = spindle.call({ name: 't', callId: 'one' });
    await spindle.settle();
    expect(again.refusal).toBeUndefined();
    expect(again.end).toEqual(first.end);

    spindle = await spindle.restart();
    // Two at once: the second finds the first one on its way to the journal.
    const joiners = [spindle.call({ name: 't', callId: 'one' }), spindle.call({ name: 't', callId: 'one' })];
    await spindle.settle();
    expect(joiners.map(({ refusal }) => refusal)).toEqual([undefined, undefined]);
    expect(joiners.map(({ end }) => end)).toEqual([first.end, first.end]);
    expect(worker.dispatches()).toHaveLength(1);
  });

  it('4.12: with other arguments it is refused, whether the call runs or has ended', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t', 'u']));
    spindle.call({ name: 't', callId: 'one' });
    await spindle.settle();
    const others = [
      spindle.call({ name: 't', callId: 'one', arguments: '{ }' }),
      spindle.call({ name: 'u', callId: 'one' }),
    ];
    await spindle.settle();
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    others.push(spindle.call({ name: 't', callId: 'one', arguments: '{ }' }));
    await spindle.settle();
    expect(others.map(({ refusal }) => refusal?.reason)).toEqual(Array(3).fill('call_id_conflict'));
    expect(worker.dispatches()).toHaveLength(1);
  });

  it('4.10: a cancel right behind the request reaches the call', async () => {
    const spindle = await virtualEngine();
    await spindle.connect(hello('w', ['t']));
    spindle.journal.hold();
    const call = spindle.call({ name: 't', callId: 'one' });
    const cancelled = spindle.engine.calls.cancel(
      { $typeName: 'spindle.v1.Caller', tenant: 'default', subject: 'somebody', claims: {} },
      { sessionId: '', callId: 'one' },
      'changed my mind',
    );
    await spindle.settle();
    spindle.journal.letGo();
    await spindle.settle();
    expect(await cancelled).toMatchObject({ ok: true });
    expect(call.end?.outcome.value).toMatchObject({ code: 'cancelled' });
  });
});
