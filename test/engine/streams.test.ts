import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { CancelReason, DrainSchema, GoAwayReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { duration } from '../../src/core/time.ts';
import { hello, textResult, type VirtualEngine, type VirtualStream, virtualEngine } from './virtual.ts';

/** Minutes pass while a worker sends its heartbeats. */
async function advanceAlive(
  spindle: VirtualEngine,
  millis: number,
  ...workers: VirtualStream[]
): Promise<void> {
  for (let left = millis; left > 0; left -= 10_000) {
    await spindle.advance(Math.min(left, 10_000));
    for (const worker of workers) {
      const held = worker.dispatches().map(({ leaseToken }) => leaseToken);
      await worker.heartbeat(held.length, ...held);
    }
  }
}

const goAways = ({ frames }: VirtualStream) =>
  frames.flatMap(({ kind }) => (kind.case === 'goAway' ? [kind.value.reason] : []));

async function drained(worker: VirtualStream): Promise<void> {
  await worker.send({ case: 'drain', value: create(DrainSchema, { reason: 'SIGTERM' }) });
  await worker.halfClose();
}

describe('a stream in time', () => {
  it('5.1: without a hello it ends after 5 s', async () => {
    const spindle = await virtualEngine();
    const stream = spindle.open();
    await spindle.advance(4_999);
    expect(stream.ended).toBeUndefined();
    await spindle.advance(1);
    expect(stream.ended).toBe('hello_timeout');
  });

  it('5.3: silent for 30 s it ends, and what its worker holds is kept for 30 s more', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({ name: 't' });
    await spindle.advance(29_999);
    expect(worker.ended).toBeUndefined();
    await spindle.advance(1);
    expect(worker.ended).toBe('hello_timeout');
    await spindle.advance(29_999);
    expect(call.end).toBeUndefined();
    await spindle.advance(1);
    expect(call.end?.outcome.value).toMatchObject({ code: 'outcome_unknown', mayHaveTakenEffect: true });
  });

  it.each<[string, (spindle: VirtualEngine, worker: VirtualStream) => Promise<unknown>, string]>([
    ['it vanishes', (_, worker) => worker.vanish(), 'it vanished'],
    ['its system ends its stream', (_, worker) => worker.halfClose(), 'it ended its stream without a drain'],
    ['it has drained', (_, worker) => drained(worker), 'it has drained'],
    ['it is silent', (spindle) => spindle.advance(30_000), 'nothing was heard for 30 s; reconnect'],
    [
      'another takes its place',
      (spindle) => spindle.connect(hello('w', ['t'])),
      'the engine sent it away: replaced',
    ],
    ['it breaks the protocol', (_, worker) => worker.heartbeat(7), 'heartbeat.received_through is 7'],
  ])('5.5: where %s, the log says once that it left, and why', async (_, leave, reason) => {
    const spindle = await virtualEngine();
    await leave(spindle, await spindle.connect(hello('w', ['t'])));
    await spindle.settle();
    expect(spindle.reports.filter(({ event }) => event === 'worker_left')).toEqual([
      {
        level: 'info',
        event: 'worker_left',
        facts: { worker: 'w', reason: expect.stringContaining(reason) },
      },
    ]);
  });

  it('5.3: after about an hour its worker is asked to reconnect, and gets nothing more, whatever it says', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    while (goAways(worker).length === 0) await advanceAlive(spindle, 10_000, worker);
    expect(goAways(worker)).toEqual([GoAwayReason.MAX_AGE]);
    await worker.heartbeat(0);
    spindle.call({ name: 't' });
    await spindle.settle();
    expect(worker.dispatches()).toEqual([]);
    const next = spindle.open();
    const { resumeToken = '' } = worker.welcome ?? {};
    await next.send({ case: 'hello', value: hello('w', ['t'], { resumeToken, streamNumber: 2 }) });
    await next.heartbeat(0);
    expect(next.dispatches()).toHaveLength(1);
  });

  it('5.10: a reader that takes nothing gets no dispatch, and is sent away after 15 s', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    worker.blocked = true;
    spindle.call({ name: 't' });
    await spindle.settle();
    expect(worker.dispatches()).toHaveLength(1);
    const waiting = spindle.call({ name: 't' });
    await spindle.settle();
    expect(worker.dispatches()).toHaveLength(1);
    await spindle.advance(14_999);
    expect(worker.ended).toBeUndefined();
    await spindle.advance(1);
    expect(goAways(worker)).toEqual([GoAwayReason.SLOW_READER]);
    expect(worker.ended).toBe('OK');
    expect(waiting.end).toBeUndefined();
  });

  it('5.10: a reader that takes again in time gets what waits', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    worker.blocked = true;
    spindle.call({ name: 't' });
    await spindle.settle();
    spindle.call({ name: 't' });
    await spindle.advance(10_000);
    await worker.drain();
    expect(worker.dispatches()).toHaveLength(2);
    await worker.heartbeat(2, ...worker.dispatches().map(({ leaseToken }) => leaseToken));
    await spindle.advance(20_000);
    expect(worker.ended).toBeUndefined();
  });

  it('5.10: one that only writes is not read without bound, while it takes nothing', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    worker.blocked = true;
    for (let index = 0; index < 1_100; index++) await worker.answer(`none/call:${index}`, textResult(''));
    expect(worker.paused).toBe(true);
    expect(worker.acknowledgements().length).toBeLessThan(1_100);
    await worker.drain();
    await spindle.settle();
    expect(worker.paused).toBe(false);
    expect(worker.acknowledgements()).toHaveLength(1_100);
  });
});

describe('a worker that is lost', () => {
  it('4.6: its call is repeated where that is safe, and the next attempt says so', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(
      hello('w', [{ name: 't', annotations: { idempotent: true }, retry: { maxAttempts: 2 } }]),
    );
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    await worker.vanish();
    const other = await spindle.connect(
      hello('x', [{ name: 't', annotations: { idempotent: true }, retry: { maxAttempts: 2 } }]),
    );
    await advanceAlive(spindle, 32_000, other);
    expect(other.execute(0).execute).toMatchObject({ callId: call.callId, attempt: 2 });
    await other.answer(other.execute(0).leaseToken, textResult('second'));
    expect(call.end).toMatchObject({ attempts: 2, outcome: { case: 'result' } });
  });

  it('5.5: a heartbeat timeout stands still while its worker is away, and goes on when it is back', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({
      name: 't',
      retry: { $typeName: 'spindle.v1.RetryPolicy', heartbeatTimeout: duration(5_000) },
    });
    await spindle.advance(4_000);
    const { leaseToken } = worker.execute(0);
    const { resumeToken = '' } = worker.welcome ?? {};
    await worker.vanish();
    await spindle.advance(20_000);
    expect(call.end).toBeUndefined();
    const next = await spindle.connect(
      hello('w', ['t'], { resumeToken, streamNumber: 2, held: [{ leaseToken }] }),
    );
    await spindle.advance(4_999);
    expect(call.end).toBeUndefined();
    await spindle.advance(1);
    expect(call.end?.outcome.value).toMatchObject({ code: 'heartbeat_timeout' });
    expect(next.cancels()).toEqual([leaseToken]);
  });

  it('4.4: a heartbeat timeout is pushed on by every report of progress', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({
      name: 't',
      retry: { $typeName: 'spindle.v1.RetryPolicy', heartbeatTimeout: duration(5_000) },
    });
    await spindle.settle();
    const { leaseToken } = worker.execute(0);
    for (let index = 0; index < 5; index++) {
      await spindle.advance(4_000);
      await worker.send({ case: 'progress', value: { leaseToken } });
    }
    expect(call.end).toBeUndefined();
    await spindle.advance(5_000);
    expect(call.end?.outcome.value).toMatchObject({ code: 'heartbeat_timeout', mayHaveTakenEffect: true });
  });

  it('4.4: a stuck slot of an older stream is free once the process stops naming it', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t'], { maxInFlight: 1 }));
    spindle.call({ name: 't', retry: { $typeName: 'spindle.v1.RetryPolicy', runTimeout: duration(15_000) } });
    await spindle.settle();
    const { leaseToken } = worker.execute(0);
    const { resumeToken = '' } = worker.welcome ?? {};
    await worker.vanish();
    const next = await spindle.connect(
      hello('w', ['t'], { maxInFlight: 1, resumeToken, streamNumber: 2, held: [{ leaseToken }] }),
    );
    await spindle.advance(15_000);
    expect(next.cancels()).toEqual([leaseToken]);
    spindle.call({ name: 't' });
    await next.heartbeat(0, leaseToken);
    expect(next.dispatches()).toEqual([]);
    await next.heartbeat(0);
    expect(next.dispatches()).toHaveLength(1);
  });

  it('4.4: a timeout while its worker is away is told in the next welcome', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({
      name: 't',
      retry: { $typeName: 'spindle.v1.RetryPolicy', runTimeout: duration(10_000) },
    });
    await spindle.settle();
    const { leaseToken } = worker.execute(0);
    const { resumeToken = '' } = worker.welcome ?? {};
    await worker.vanish();
    await spindle.advance(10_000);
    expect(call.end?.outcome.value).toMatchObject({ code: 'run_timeout' });
    const next = await spindle.connect(
      hello('w', ['t'], { resumeToken, streamNumber: 2, held: [{ leaseToken }] }),
    );
    expect(next.welcome?.abandon).toEqual([leaseToken]);
    await next.answer(leaseToken, textResult('late'));
    expect(next.acknowledgements().map(({ verdict }) => verdict)).toEqual([AnswerVerdict.STALE]);
  });

  it('5.6: a dispatch that was recorded and never written is dispatched again, uncharged', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    spindle.journal.hold();
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    await worker.vanish();
    const other = await spindle.connect(hello('x', ['t']));
    spindle.journal.letGo();
    await spindle.settle();
    expect(worker.dispatches()).toEqual([]);
    expect(other.execute(0).execute).toMatchObject({ callId: call.callId, attempt: 1 });
  });

  it('5.4: every slot is free again, and nothing is kept of streams and workers that went', async () => {
    const spindle = await virtualEngine();
    for (let round = 0; round < 20; round++) {
      const worker = await spindle.connect(hello(`w${round}`, ['t']));
      const calls = Array.from({ length: 16 }, () =>
        spindle.call({ name: 't', retry: { $typeName: 'spindle.v1.RetryPolicy', maxAttempts: 1 } }),
      );
      await spindle.settle();
      for (let index = 0; index < 8; index++)
        await worker.answer(worker.execute(index).leaseToken, textResult(''));
      await worker.vanish();
      await spindle.advance(31_000);
      expect(calls.filter(({ end }) => end === undefined)).toEqual([]);
    }
    expect(spindle.registry.instances.size).toBe(0);
    await spindle.advance(60_000);
    expect(spindle.clock.alarms).toBe(0);
  });
});

describe('a restart', () => {
  it('5.8: no deadline of a call that outlived it fires before 30 s; its worker delivers, once', async () => {
    const first = await virtualEngine();
    const worker = await first.connect(hello('w', ['t']));
    const call = first.call({
      name: 't',
      retry: { $typeName: 'spindle.v1.RetryPolicy', runTimeout: duration(1_000) },
    });
    await first.settle();
    const { leaseToken } = worker.execute(0);
    const { resumeToken = '' } = worker.welcome ?? {};
    const spindle = await first.restart();
    await spindle.advance(29_000);
    const next = await spindle.connect(
      hello('w', ['t'], { resumeToken, streamNumber: 2, held: [{ leaseToken }] }),
    );
    expect(next.welcome?.abandon).toEqual([]);
    await next.answer(leaseToken, textResult('kept'));
    expect(next.acknowledgements().map(({ verdict }) => verdict)).toEqual([AnswerVerdict.RECORDED]);
    const again = spindle.call({
      name: 't',
      callId: call.callId,
      retry: { $typeName: 'spindle.v1.RetryPolicy' },
    });
    await spindle.settle();
    expect(again.end?.outcome.case).toBe('result');
    expect(next.dispatches()).toEqual([]);
  });

  it('5.8: a worker that does not come back within 30 s loses its calls', async () => {
    const first = await virtualEngine();
    await first.connect(hello('w', ['t']));
    const call = first.call({ name: 't' });
    await first.settle();
    const spindle = await first.restart();
    const again = spindle.call({ name: 't', callId: call.callId });
    await spindle.advance(30_000);
    expect(again.end?.outcome.value).toMatchObject({ code: 'outcome_unknown' });
  });

  it('7.2: a call that backs off goes on where it stood', async () => {
    const first = await virtualEngine();
    const worker = await first.connect(hello('w', ['t']));
    const call = first.call({ name: 't', retry: { $typeName: 'spindle.v1.RetryPolicy', maxAttempts: 2 } });
    await first.settle();
    const error = { message: 'later', retryable: true, retryAfter: duration(20_000) };
    await worker.answer(worker.execute(0).leaseToken, { case: 'error', value: error });
    await first.advance(5_000);
    const spindle = await first.restart();
    const other = await spindle.connect(hello('x', ['t']));
    await spindle.advance(14_999);
    expect(other.dispatches()).toEqual([]);
    await spindle.advance(1);
    expect(other.execute(0).execute).toMatchObject({ callId: call.callId, attempt: 2 });
  });

  it('4.10: a cancel after it reaches a worker that comes back', async () => {
    const first = await virtualEngine();
    const worker = await first.connect(hello('w', ['t']));
    const call = first.call({ name: 't' });
    await first.settle();
    const { leaseToken } = worker.execute(0);
    const { resumeToken = '' } = worker.welcome ?? {};
    const spindle = await first.restart();
    const next = await spindle.connect(
      hello('w', ['t'], { resumeToken, streamNumber: 2, held: [{ leaseToken }] }),
    );
    const { caller } = {
      caller: { $typeName: 'spindle.v1.Caller' as const, tenant: 'default', subject: 'somebody', claims: {} },
    };
    await spindle.engine.calls.cancel(caller, { sessionId: '', callId: call.callId }, '');
    await spindle.settle();
    expect(next.cancels()).toEqual([leaseToken]);
    expect(next.frames.flatMap(({ kind }) => (kind.case === 'cancel' ? [kind.value.reason] : []))).toEqual([
      CancelReason.CANCELLED,
    ]);
  });
});
