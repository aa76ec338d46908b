import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { CancelReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { duration, millisOf } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { holding, ownName } from './holding.ts';
import { method } from './raw-client.ts';
import { textResult, type Work } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

describe('a failure', () => {
  it('4.8: keeps the code and the words of the tool, within bounds, and drops a detail that is no JSON', async () => {
    const { worker, work, end } = await holding(engine);
    const error = { message: 'm'.repeat(100_000), code: 'c'.repeat(1_000), detailJson: '{' };
    await worker.answer(work.leaseToken, { case: 'error', value: error });
    const { outcome } = await end();
    const failure = outcome.case === 'error' ? outcome.value : undefined;
    expect(failure?.code).toHaveLength(256);
    expect(failure?.message.length).toBeLessThan(33_000);
    expect(failure?.detailJson).toBe('');
    worker.vanish();
  });

  it('4.8: without a code is a tool_error, and without words has some', async () => {
    const { worker, work, end } = await holding(engine);
    await worker.answer(work.leaseToken, { case: 'error', value: {} });
    expect((await end()).outcome.value).toMatchObject({
      code: 'tool_error',
      message: expect.stringMatching(/\w/),
    });
    worker.vanish();
  });

  it('4.2: is retried with backoff while it is retryable and attempts are left', async () => {
    const retry = {
      maxAttempts: 3,
      initialBackoff: duration(1),
      maxBackoff: duration(2),
      backoffMultiplier: 2,
    };
    const { worker, work, end, watching } = await holding(engine, { retry });
    let current: Work = work;
    for (const attempt of [1, 2]) {
      expect(current.execute.attempt).toBe(attempt);
      const error = { message: `failed ${attempt}`, retryable: true, retryAfter: duration(3) };
      expect((await worker.answer(current.leaseToken, { case: 'error', value: error })).verdict).toBe(
        AnswerVerdict.RECORDED,
      );
      current = await worker.work();
    }
    expect(current.execute.idempotencyKey).toBe(work.execute.idempotencyKey);
    await worker.answer(current.leaseToken, {
      case: 'error',
      value: { message: 'failed 3', retryable: true },
    });
    expect(await end()).toMatchObject({ attempts: 3, outcome: { value: { message: 'failed 3' } } });
    const retrying = watching.all.flatMap(({ update }) =>
      update?.kind.case === 'retrying' ? [update.kind.value] : [],
    );
    expect(retrying.map(({ attempt, error }) => [attempt, error?.message])).toEqual([
      [1, 'failed 1'],
      [2, 'failed 2'],
    ]);
    expect(retrying.map(({ backoff }) => backoff && millisOf(backoff) >= 3)).toEqual([true, true]);
    worker.vanish();
  });

  it('4.2: that is not retryable ends the call, whatever the policy says', async () => {
    const { worker, work, end } = await holding(engine, { retry: { maxAttempts: 5 } });
    await worker.answer(work.leaseToken, { case: 'error', value: { message: 'no' } });
    expect(await end()).toMatchObject({ attempts: 1, outcome: { case: 'error' } });
    worker.vanish();
  });
});

describe('time and cancel', () => {
  it('4.4: on a run timeout the attempt ends, its worker gets cancel, and the slot stays taken until it answers', async () => {
    const retry = { runTimeout: duration(20) };
    const { name, worker, work, end } = await holding(engine, { retry });
    worker.send({ case: 'capacity', value: { maxInFlight: 1 } });
    expect((await end()).outcome.value).toMatchObject({ code: 'run_timeout', mayHaveTakenEffect: true });
    const cancel = await worker.next('cancel');
    expect(cancel).toMatchObject({ leaseToken: work.leaseToken, reason: CancelReason.DEADLINE });
    expect(cancel.grace && millisOf(cancel.grace)).toBe(10_000);
    const waiting = engine.client.call(method.callTool, { name });
    await worker.heartbeat(1, work.leaseToken);
    expect(worker.inbox.all.filter(({ kind }) => kind.case === 'dispatch')).toHaveLength(1);
    expect((await worker.answer(work.leaseToken, { case: 'cancelled', value: {} })).verdict).toBe(
      AnswerVerdict.STALE,
    );
    await worker.answer((await worker.work()).leaseToken, textResult('next'));
    await waiting;
    worker.vanish();
  });

  it('4.4: a stuck slot is free as well once a heartbeat no longer names the lease', async () => {
    const { name, worker, work, end } = await holding(engine, { retry: { runTimeout: duration(20) } });
    worker.send({ case: 'capacity', value: { maxInFlight: 1 } });
    await end();
    await worker.next('cancel');
    const waiting = engine.client.call(method.callTool, { name });
    await worker.heartbeat(1, work.leaseToken);
    await worker.heartbeat(1);
    await worker.answer((await worker.work()).leaseToken, textResult('next'));
    await waiting;
    worker.vanish();
  });

  it('4.2: a run timeout is retried for a tool that is safe to repeat, and a late result before that ends the call', async () => {
    const retry = {
      runTimeout: duration(20),
      maxAttempts: 2,
      initialBackoff: duration(600_000),
      maxBackoff: duration(600_000),
    };
    const { worker, work, end, watching } = await holding(engine, {
      retry: { ...retry, totalTimeout: duration(3_600_000) },
    });
    await watching.take('retrying', ({ update }) => (update?.kind.case === 'retrying' ? true : undefined));
    expect((await worker.answer(work.leaseToken, textResult('late'))).verdict).toBe(AnswerVerdict.RECORDED);
    expect((await end()).outcome.value).toMatchObject({ content: [{ kind: { value: { text: 'late' } } }] });
    worker.vanish();
  });

  it('4.1: a call that no worker takes in time ends with queue_timeout', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }], { maxInFlight: 0 });
    const ended = await engine.client.call(method.callTool, { name, retry: { queueTimeout: duration(20) } });
    expect(ended).toMatchObject({ outcome: { value: { code: 'queue_timeout', mayHaveTakenEffect: false } } });
    worker.vanish();
  });

  it('4.4: the total time ends a call over all its attempts', async () => {
    const retry = {
      totalTimeout: duration(60),
      runTimeout: duration(20),
      maxAttempts: 100,
      initialBackoff: duration(1),
      maxBackoff: duration(1),
    };
    const { worker, end } = await holding(engine, { retry });
    expect((await end()).outcome.value).toMatchObject({
      code: expect.stringMatching(/^(total|run)_timeout$/),
      mayHaveTakenEffect: true,
    });
    worker.vanish();
  });

  it('4.10: cancel reaches the worker, ends the call at once, and is idempotent', async () => {
    const { name, worker, work, end } = await holding(engine);
    const { call } = await engine.client.call(method.cancelCall, { callId: name, reason: 'changed my mind' });
    expect(call?.outcome.value).toMatchObject({
      code: 'cancelled',
      message: expect.stringContaining('changed my mind'),
    });
    expect(await worker.next('cancel')).toMatchObject({
      leaseToken: work.leaseToken,
      reason: CancelReason.CANCELLED,
    });
    await end();
    const again = await engine.client.call(method.cancelCall, { callId: name, reason: 'twice' });
    expect(again.call).toEqual(call);
    expect((await worker.answer(work.leaseToken, textResult('too late'))).verdict).toBe(AnswerVerdict.STALE);
    worker.vanish();
  });

  it('4.10: a deadline of the caller ends its wait, never the call', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }]);
    const gone = await engine.client.refused(method.callTool, { name, callId: name }, 50);
    expect(gone.code).toBe('DEADLINE_EXCEEDED');
    const work = await worker.work();
    expect((await worker.answer(work.leaseToken, textResult('done'))).verdict).toBe(AnswerVerdict.RECORDED);
    const { call } = await engine.client.call(method.getCall, { callId: name });
    expect(call?.outcome.case).toBe('result');
    worker.vanish();
  });
});
