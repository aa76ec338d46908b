import { status } from '@grpc/grpc-js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { method } from './raw-client.ts';
import { connectWorker, helloOf, textResult, type Work } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const start = (name: string, more: object = {}) =>
  engine.client.call(method.startCall, { call: { name, arguments: '{}', ...more } });
const read = async (callId: string) => (await engine.client.call(method.getCall, { callId })).call;

describe('slots', () => {
  it('5.4: max_concurrency bounds one tool, and others go on', async () => {
    const worker = await connectWorker(engine.address, {
      ...helloOf([]),
      tools: [{ tool: { name: 'single' }, maxConcurrency: 1 }, { tool: { name: 'free' } }],
    });
    for (const callId of ['single-1', 'single-2']) await start('single', { callId });
    await start('free', { callId: 'free-1' });
    const first = await worker.work('single-1');
    await worker.work('free-1');
    expect((await read('single-2'))?.status).toBe(CallStatus.QUEUED);
    await worker.answer(first.leaseToken, textResult(''));
    await worker.work('single-2');
    worker.vanish();
  });

  it('5.4: a capacity of 0 stops dispatches, and another number starts them again', async () => {
    const worker = await engine.worker([{ name: 'paused' }]);
    worker.send({ case: 'capacity', value: { maxInFlight: 0 } });
    await worker.heartbeat(0);
    await start('paused', { callId: 'paused-1' });
    expect((await read('paused-1'))?.status).toBe(CallStatus.QUEUED);
    worker.send({ case: 'capacity', value: { maxInFlight: 2 } });
    await worker.work('paused-1');
    worker.vanish();
  });

  it('5.12: a capacity above the limit ends the stream with INVALID_ARGUMENT', async () => {
    const worker = await engine.worker([{ name: 'greedy' }]);
    worker.send({ case: 'capacity', value: { maxInFlight: 5_000 } });
    expect((await worker.status).code).toBe(status.INVALID_ARGUMENT);
  });

  it('5.4: no worker ever holds more than its limit, whatever limits, answers and capacities come', async () => {
    let run = 0;
    const step = fc.record({
      worker: fc.nat(1),
      answers: fc.integer({ min: 1, max: 3 }),
      capacity: fc.option(fc.integer({ min: 1, max: 4 })),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 4 })),
        fc.array(step, { minLength: 30, maxLength: 30 }),
        async (limits, steps) => {
          const name = `slots-${++run}`;
          const workers = await Promise.all(
            limits.map(async (maxInFlight) => ({
              raw: await engine.worker([{ name }], { maxInFlight }),
              limit: maxInFlight,
              taken: 0,
              held: [] as Work[],
            })),
          );
          const calls = Array.from({ length: 40 }, (_, index) => ({ name, callId: `${name}-${index}` }));
          const stream = engine.client.duplex(method.streamCalls);
          stream.send({ calls });
          let ended = 0;
          // Takes what has come, and looks whether it is too much.
          const look = async (worker: (typeof workers)[number]): Promise<void> => {
            await worker.raw.heartbeat(0);
            const dispatched = worker.raw.inbox.all.filter(({ kind }) => kind.case === 'dispatch').length;
            for (; worker.taken < dispatched; worker.taken++) worker.held.push(await worker.raw.work());
            expect(worker.held.length).toBeLessThanOrEqual(worker.limit);
          };
          const answer = async (worker: (typeof workers)[number], count: number): Promise<void> => {
            for (const { leaseToken } of worker.held.splice(0, count)) {
              await worker.raw.answer(leaseToken, textResult(''));
              ended++;
            }
          };
          for (const { worker: index, answers, capacity } of steps) {
            const worker = workers[index] ?? workers[0];
            if (worker === undefined) continue;
            await look(worker);
            await answer(worker, answers);
            if (capacity === null || worker.held.length > capacity) continue;
            await look(worker);
            await answer(worker, Math.max(worker.held.length - capacity, 0));
            worker.raw.send({ case: 'capacity', value: { maxInFlight: capacity } });
            // What was on its way still counts under the larger limit.
            worker.limit = Math.max(worker.limit, capacity);
          }
          while (ended < calls.length) {
            for (const worker of workers) {
              await look(worker);
              await answer(worker, worker.held.length);
            }
          }
          const updates = (): number => stream.all.flatMap((message) => message.updates).length;
          while (updates() < calls.length) await stream.next();
          for (const { raw } of workers) raw.vanish();
          stream.cancel();
        },
      ),
      { numRuns: 8 },
    );
  });
});

describe('a dispatch that is given back', () => {
  it('4.3: is requeued as the same attempt under a new lease, and its old lease is stale', async () => {
    const worker = await engine.worker([{ name: 'rejected' }]);
    await start('rejected', { callId: 'rejected-1' });
    const first = await worker.work();
    worker.send({
      case: 'reject',
      value: { leaseToken: first.leaseToken, retryAfter: duration(0), reason: 'busy' },
    });
    const second = await worker.work();
    expect(second.execute.attempt).toBe(1);
    expect(second.leaseToken).not.toBe(first.leaseToken);
    expect(second.execute.idempotencyKey).toBe(first.execute.idempotencyKey);
    expect((await worker.answer(first.leaseToken, textResult('old'))).verdict).toBe(AnswerVerdict.STALE);
    expect((await worker.answer(second.leaseToken, textResult('new'))).verdict).toBe(AnswerVerdict.RECORDED);
    worker.vanish();
  });
});
