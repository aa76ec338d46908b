import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { method } from './raw-client.ts';
import { type RawWorker, reconnect, textResult, type Work } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const start = (name: string, more: object = {}) =>
  engine.client.call(method.startCall, { call: { name, arguments: '{}', ...more } });
const read = async (callId: string) => (await engine.client.call(method.getCall, { callId })).call;
const end = async (callId: string) => {
  const watching = engine.client.stream(method.watchCall, { callId });
  return watching.take('end', ({ update }) =>
    update?.kind.case === 'finished' ? update.kind.value.outcome : undefined,
  );
};

describe('a drain', () => {
  it('5.9: the reply follows every dispatch, held work finishes, and a half-close ends with OK', async () => {
    const worker = await engine.worker([{ name: 'draining' }], { maxInFlight: 100 });
    const stream = engine.client.duplex(method.streamCalls);
    const calls = Array.from({ length: 50 }, (_, index) => ({
      name: 'draining',
      callId: `draining-${index}`,
    }));
    stream.send({ calls: calls.slice(0, 25) });
    const held = [await worker.work()];
    worker.send({ case: 'drain', value: { reason: 'deploy' } });
    stream.send({ calls: calls.slice(25) });
    await worker.next('drainReply');
    const kinds = worker.inbox.all.map(({ kind }) => kind.case);
    const dispatched = kinds.filter((kind) => kind === 'dispatch').length;
    expect(kinds.lastIndexOf('dispatch')).toBeLessThan(kinds.indexOf('drainReply'));
    while (held.length < dispatched) held.push(await worker.work());
    expect(await worker.heartbeat(dispatched, ...held.map(({ leaseToken }) => leaseToken))).toEqual([]);
    for (const { leaseToken } of held)
      expect((await worker.answer(leaseToken, textResult(''))).verdict).toBe(AnswerVerdict.RECORDED);
    await worker.heartbeat(dispatched);
    worker.halfClose();
    expect((await worker.status).code).toBe(status.OK);
    expect(worker.inbox.all.filter(({ kind }) => kind.case === 'dispatch')).toHaveLength(dispatched);
    // Another worker takes what was left.
    const other = await engine.worker([{ name: 'draining' }], { maxInFlight: 100 });
    for (let left = calls.length - dispatched; left > 0; left--) await other.work();
    stream.cancel();
    other.vanish();
  });
});

describe('a process that comes back', () => {
  const pair = async (name: string): Promise<{ worker: RawWorker; one: Work; other: Work }> => {
    const worker = await engine.worker([{ name }]);
    await start(name, { callId: `${name}-1` });
    await start(name, { callId: `${name}-2` });
    return { worker, one: await worker.work(), other: await worker.work() };
  };

  it('5.5: goes on with what it holds; what it never had is dispatched again, uncharged', async () => {
    const { worker, one, other } = await pair('resumed');
    worker.vanish();
    const next = await reconnect(engine.address, worker, [{ leaseToken: one.leaseToken }]);
    expect(next.welcome.abandon).toEqual([]);
    const again = await next.work();
    expect(again.execute).toMatchObject({
      callId: other.execute.callId,
      attempt: 1,
      idempotencyKey: other.execute.idempotencyKey,
    });
    expect(again.leaseToken).not.toBe(other.leaseToken);
    // A heartbeat of the new stream does not speak for the lease of the older one (5.6).
    expect(await next.heartbeat(1, again.leaseToken)).toEqual([]);
    expect((await next.answer(one.leaseToken, textResult('kept'))).verdict).toBe(AnswerVerdict.RECORDED);
    expect((await end('resumed-1')).value).toMatchObject({
      content: [{ kind: { value: { text: 'kept' } } }],
    });
    next.vanish();
  });

  it('5.7: an answer that was not acknowledged is sent again and is a duplicate, or recorded late but once', async () => {
    const { worker, one, other } = await pair('resent');
    await worker.answer(one.leaseToken, textResult('first'));
    worker.vanish();
    const held = [one, other].map(({ leaseToken }) => ({ leaseToken, answered: true }));
    const next = await reconnect(engine.address, worker, held);
    expect((await next.answer(one.leaseToken, textResult('second'))).verdict).toBe(AnswerVerdict.DUPLICATE);
    expect((await next.answer(other.leaseToken, textResult('only'))).verdict).toBe(AnswerVerdict.RECORDED);
    expect((await end('resent-1')).value).toMatchObject({
      content: [{ kind: { value: { text: 'first' } } }],
    });
    next.vanish();
  });

  it('5.6: a heartbeat that leaves a read dispatch out loses it, and one not yet read is not judged', async () => {
    const { worker, one, other } = await pair('forgotten');
    await worker.heartbeat(1);
    expect((await end(one.execute.callId)).value).toMatchObject({
      code: 'outcome_unknown',
      mayHaveTakenEffect: true,
    });
    expect((await read(other.execute.callId))?.status).toBe(CallStatus.RUNNING);
    expect((await worker.answer(one.leaseToken, textResult('late'))).verdict).toBe(AnswerVerdict.STALE);
    worker.vanish();
  });

  it('5.12: a heartbeat that claims dispatches that never were ends the stream', async () => {
    const { worker } = await pair('forged');
    worker.send({ case: 'heartbeat', value: { sequence: 1, receivedThrough: 3 } });
    expect((await worker.status).code).toBe(status.INVALID_ARGUMENT);
  });

  it('5.6: held leases that nobody knows are to be abandoned, in the welcome and in the heartbeat reply', async () => {
    const worker = await engine.worker([]);
    expect(await worker.heartbeat(0, 'invented', 'and/another')).toEqual(['invented', 'and/another']);
    const next = await reconnect(engine.address, worker, [{ leaseToken: 'invented' }]);
    expect(next.welcome.abandon).toEqual(['invented']);
    next.vanish();
  });
});
