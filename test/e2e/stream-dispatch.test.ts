import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEngine, type TestEngine } from './engine.ts';
import { method } from './raw-client.ts';
import { textResult } from './raw-worker.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const start = (name: string, more: object = {}) =>
  engine.client.call(method.startCall, { call: { name, arguments: '{}', ...more } });

describe('a dispatch', () => {
  it('4.3: carries what the worker needs, and its sequence counts from 1 on each stream', async () => {
    const worker = await engine.worker([{ name: 'carried' }]);
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    await start('carried', { callId: 'carried-1', arguments: '{"a": 1.0}', traceContext: trace });
    await start('carried', { callId: 'carried-2' });
    const [first, second] = [await worker.work(), await worker.work()];
    expect([first.dispatch.sequence, second.dispatch.sequence]).toEqual([1, 2]);
    expect(first.dispatch).toMatchObject({
      sessionId: 'call:carried-1',
      turnId: '',
      agentId: '',
      traceContext: trace,
    });
    expect(first.execute).toMatchObject({
      callId: 'carried-1',
      name: 'carried',
      arguments: '{"a": 1.0}',
      attempt: 1,
    });
    expect(first.execute.idempotencyKey).not.toBe('');
    expect(first.execute.idempotencyKey).not.toBe(second.execute.idempotencyKey);
    expect(Number(first.execute.timeRemaining?.seconds)).toBeGreaterThan(100);
    worker.vanish();
  });

  it('5.2: those of one tick come in one message, and no message has more than 128 frames', async () => {
    const worker = await engine.worker([{ name: 'batched' }], { maxInFlight: 1_000 });
    const stream = engine.client.duplex(method.streamCalls);
    stream.send({
      calls: Array.from({ length: 300 }, (_, index) => ({ name: 'batched', callId: `batched-${index}` })),
    });
    for (let index = 0; index < 300; index++) await worker.work();
    const sizes = worker.messages.map(({ frames }) => frames.length);
    expect(Math.max(...sizes)).toBe(128);
    expect(sizes.length).toBeLessThan(50);
    stream.cancel();
    worker.vanish();
  });

  it('5.2: no message is larger than the worker reads', async () => {
    const worker = await engine.worker([{ name: 'narrow' }], { maxMessageBytes: 65_536 });
    const text = 'x'.repeat(20_000);
    const stream = engine.client.duplex(method.streamCalls);
    stream.send({
      calls: Array.from({ length: 16 }, (_, index) => ({
        name: 'narrow',
        callId: `narrow-${index}`,
        arguments: JSON.stringify({ text }),
      })),
    });
    for (let index = 0; index < 16; index++) await worker.work();
    expect(Math.max(...worker.messages.map(({ frames }) => frames.length))).toBeLessThanOrEqual(3);
    stream.cancel();
    worker.vanish();
  });

  it('3.4: one that its worker could not read is never written; that call alone ends with request_too_large', async () => {
    const worker = await engine.worker([{ name: 'tiny' }], { maxMessageBytes: 65_536 });
    const large = JSON.stringify({ text: 'x'.repeat(60_000) });
    const refused = await engine.client.call(method.callTool, { name: 'tiny', arguments: large });
    expect(refused.outcome.value).toMatchObject({ code: 'request_too_large', mayHaveTakenEffect: false });
    const calling = engine.client.call(method.callTool, { name: 'tiny', arguments: '{}' });
    await worker.answer((await worker.work()).leaseToken, textResult('small'));
    expect((await calling).outcome.case).toBe('result');
    worker.vanish();
  });
});
