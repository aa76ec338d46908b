import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { holding } from './holding.ts';
import { method } from './raw-client.ts';
import { textResult } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

describe('progress', () => {
  it('reaches who watches, without the lease, whatever numbers it holds', async () => {
    const { worker, work, watching, end } = await holding(engine);
    const { leaseToken } = work;
    worker.send({
      case: 'progress',
      value: { leaseToken, completed: Number.NaN, total: -1, activity: 'Reading' },
    });
    const progress = await watching.take('progress', ({ update }) =>
      update?.kind.case === 'progress' ? update.kind.value : undefined,
    );
    expect(progress).toMatchObject({ leaseToken: '', completed: Number.NaN, total: -1, activity: 'Reading' });
    await worker.answer(leaseToken, textResult('done'));
    await end();
    worker.vanish();
  });

  it('is merged field by field while it waits to be written', async () => {
    const { worker, work, watching, end } = await holding(engine);
    const { leaseToken } = work;
    worker.send(
      { case: 'progress', value: { leaseToken, completed: 1, total: 9, activity: 'one' } },
      { case: 'progress', value: { leaseToken, completed: 2 } },
      { case: 'progress', value: { leaseToken, activity: 'three' } },
      { case: 'answer', value: { leaseToken, outcome: textResult('done') } },
    );
    await end();
    const reports = watching.all.flatMap(({ update }) =>
      update?.kind.case === 'progress' ? [update.kind.value] : [],
    );
    expect(reports.at(-1)).toMatchObject({ completed: 2, total: 9, activity: 'three' });
    expect(reports.length).toBeLessThanOrEqual(3);
    worker.vanish();
  });

  it('hands its last checkpoint to the next attempt; one that is too large is not kept', async () => {
    const { worker, work } = await holding(engine, {
      retry: { maxAttempts: 2, initialBackoff: duration(1) },
    });
    const { leaseToken } = work;
    worker.send(
      { case: 'progress', value: { leaseToken, checkpoint: new Uint8Array([1, 2, 3]) } },
      { case: 'progress', value: { leaseToken, checkpoint: new Uint8Array(64 * 1024 + 1) } },
    );
    await worker.answer(leaseToken, { case: 'error', value: { message: 'again', retryable: true } });
    expect([...(await worker.work()).execute.checkpoint]).toEqual([1, 2, 3]);
    worker.vanish();
  });

  it('3.4: with megabytes from many calls in one tick breaks no stream of their caller', async () => {
    const worker = await engine.worker([{ name: 'chatty' }]);
    const stream = engine.client.duplex(method.streamCalls);
    const calls = Array.from({ length: 4 }, (_, index) => ({
      name: 'chatty',
      callId: `chatty-${index}`,
      allUpdates: true,
    }));
    stream.send({ calls });
    const works = [];
    for (const { callId } of calls) works.push(await worker.work(callId));
    const partial = [{ kind: { case: 'text' as const, value: { text: 'x'.repeat(1_900_000) } } }];
    for (const { leaseToken } of works) worker.send({ case: 'progress', value: { leaseToken, partial } });
    for (const { leaseToken } of works)
      worker.send({
        case: 'answer',
        value: {
          leaseToken,
          outcome: { case: 'error', value: { message: 'x', detailJson: `"${'y'.repeat(1_000_000)}"` } },
        },
      });
    const ended = new Set<string>();
    while (ended.size < calls.length) {
      for (const { callId, kind } of (await stream.next()).updates)
        if (kind.case === 'finished') ended.add(callId);
    }
    stream.halfClose();
    expect((await stream.status).code).toBe(status.OK);
    worker.vanish();
  });
});
