import { describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { hello, textResult, virtualEngine } from './virtual.ts';

describe('calls that wait for a worker', () => {
  it('4.2: a worker that comes while a call backs off gets it when its wait is over', async () => {
    const spindle = await virtualEngine();
    const call = spindle.call({
      name: 't',
      retry: {
        $typeName: 'spindle.v1.RetryPolicy',
        queueTimeout: duration(1_000),
        maxAttempts: 3,
        initialBackoff: duration(20_000),
        maxBackoff: duration(20_000),
      },
    });
    await spindle.advance(1_000);
    expect(call.updates.map(({ kind }) => kind.case)).toEqual(['queued', 'retrying']);
    const worker = await spindle.connect(hello('w', ['t']));
    expect(worker.dispatches()).toHaveLength(0);
    await spindle.advance(20_000);
    expect(worker.execute(0).execute.attempt).toBe(2);
  });

  it('5.11: the oldest is served first, whatever its tool', async () => {
    const spindle = await virtualEngine();
    const names = ['a', 'b', 'a', 'a', 'c', 'b'];
    const calls = names.map((name) => spindle.call({ name }));
    await spindle.settle();
    const worker = await spindle.connect(hello('w', ['a', 'b', 'c'], { maxInFlight: 1 }));
    for (let index = 0; index < names.length; index++) {
      await worker.answer(worker.execute(index).leaseToken, textResult(''));
    }
    const served = worker.dispatches().map((_, index) => worker.execute(index).execute.callId);
    expect(served).toEqual(calls.map(({ callId }) => callId));
  });

  it('5.11: calls that cannot be placed do not keep those behind them', async () => {
    const spindle = await virtualEngine();
    Array.from({ length: 40 }, () => spindle.call({ name: 'elsewhere' }));
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    const worker = await spindle.connect(hello('w', ['t']));
    expect(worker.execute(0).execute.callId).toBe(call.callId);
  });

  it('5.11: the next attempt goes to the worker that had the last one, where it is free', async () => {
    const spindle = await virtualEngine(7);
    const workers = await Promise.all(
      ['v', 'w', 'x', 'y'].map((name) => spindle.connect(hello(name, ['t'], { workerName: name }))),
    );
    const retry = {
      $typeName: 'spindle.v1.RetryPolicy',
      maxAttempts: 8,
      initialBackoff: duration(1),
      maxBackoff: duration(1),
    } as const;
    const call = spindle.call({ name: 't', retry });
    await spindle.settle();
    const [first] = workers.filter((worker) => worker.dispatches().length > 0);
    for (let attempt = 1; attempt < 8; attempt++) {
      const { leaseToken } = first?.execute(-1) ?? { leaseToken: '' };
      await first?.answer(leaseToken, { case: 'error', value: { message: 'again', retryable: true } });
      await spindle.advance(2);
    }
    expect(first?.dispatches()).toHaveLength(8);
    expect(call.end).toBeUndefined();
  });

  it('4.3: a rejected dispatch goes to another worker at once, and comes back after the pause', async () => {
    const spindle = await virtualEngine();
    const one = await spindle.connect(hello('one', ['t'], { maxInFlight: 1 }));
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    await one.send({ case: 'reject', value: { leaseToken: one.execute(0).leaseToken, reason: 'busy' } });
    expect(one.dispatches()).toHaveLength(1);
    const other = await spindle.connect(hello('other', ['t'], { maxInFlight: 1 }));
    expect(other.execute(0).execute).toMatchObject({ callId: call.callId, attempt: 1 });
    await other.send({ case: 'reject', value: { leaseToken: other.execute(0).leaseToken } });
    await spindle.advance(999);
    expect(one.dispatches().length + other.dispatches().length).toBe(2);
    await spindle.advance(1);
    expect(one.dispatches().length + other.dispatches().length).toBe(3);
  });

  it('4.3: sixteen returns end an attempt that may not be repeated with `rejected`, as a failure without effect', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    for (let index = 0; index < 16; index++) {
      const { leaseToken } = worker.execute(index);
      await worker.send({ case: 'reject', value: { leaseToken, retryAfter: duration(0) } });
    }
    expect(worker.dispatches()).toHaveLength(16);
    expect(call.end?.outcome.value).toMatchObject({ code: 'rejected', mayHaveTakenEffect: false });
  });

  it('5.4: pauses that a worker asks for leave no alarms behind when it goes', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    const retryAfter = duration(365 * 24 * 3_600_000);
    await worker.send({ case: 'reject', value: { leaseToken: worker.execute(0).leaseToken, retryAfter } });
    await worker.vanish();
    await spindle.advance(120_000);
    expect(call.end?.outcome.value).toMatchObject({ code: 'queue_timeout' });
    expect(spindle.clock.alarms).toBe(0);
  });

  it('5.11: a worker of an older version that comes back from a short break does not put its definition in force', async () => {
    const spindle = await virtualEngine();
    const tool = (description: string) => ({ name: 't', description });
    const old = await spindle.connect(hello('old', [tool('old')]));
    await spindle.connect(hello('new', [tool('new')]));
    const { resumeToken = '' } = old.welcome ?? {};
    await old.vanish();
    await spindle.connect(hello('old', [tool('old')], { resumeToken, streamNumber: 2 }));
    expect(spindle.registry.find('default', 't')?.tool.description).toBe('new');
    expect(spindle.registry.served('default')).toMatchObject([{ workers: 1, workersWithOtherDefinition: 1 }]);
  });
});
