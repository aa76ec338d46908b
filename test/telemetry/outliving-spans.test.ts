import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from '../e2e/engine.ts';
import { holding, ownName } from '../e2e/holding.ts';
import { method, openClient } from '../e2e/raw-client.ts';
import { connectWorker, helloOf, reconnect, textResult } from '../e2e/raw-worker.ts';
import { spansOf } from './call-spans.ts';
import { openReceiver, type Receiver } from './otlp/receiver.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const traceContext = { traceparent: `00-${TRACE_ID}-${CALLER}-01` };

let receiver: Receiver;
let engine: TestEngine;
beforeAll(async () => {
  receiver = await openReceiver('grpc');
  engine = await openEngine({ telemetry: { variables: receiver.variables } });
});
afterAll(async () => {
  await engine[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

describe('what outlives the worker that had it', () => {
  it('8.1: a dispatch that comes back unstarted is the same attempt, and an event of the call', async () => {
    const { name, worker, work, end } = await holding(engine);
    const other = await engine.worker([{ name }]);
    worker.send({ case: 'reject', value: { leaseToken: work.leaseToken, reason: 'not now' } });
    const again = await other.work();
    await other.answer(again.leaseToken, textResult('done'));
    await end();
    const { call, attempts } = await spansOf(receiver, name);
    expect(call.events).toMatchObject([
      { name: 'spindle.attempt.requeued', attributes: { 'spindle.requeue.reason': 'rejected' } },
    ]);
    expect(attempts).toHaveLength(1);
    expect(again.dispatch.traceContext).toEqual(work.dispatch.traceContext);
    worker.vanish();
    other.vanish();
  });

  it('8.1: a deferred call ends when it is settled', async () => {
    const { name, worker, work, end } = await holding(engine);
    await worker.answer(work.leaseToken, { case: 'toolDefer', value: {} });
    await engine.client.call(method.settleCall, { callId: name, outcome: { case: 'result', value: {} } });
    await end();
    const { call, attempts } = await spansOf(receiver, name);
    expect(call).toMatchObject({ status: 'UNSET', events: [{ name: 'spindle.call.deferred' }] });
    expect(attempts).toHaveLength(1);
  });

  it('8.2: a call that outlives the engine is in the same trace, and each of its spans comes once', async () => {
    const folder = join(tmpdir(), `spindle-spans-${process.pid}`);
    const journal = `sqlite:${join(folder, 'spindle.db')}`;
    const telemetry = { variables: receiver.variables };
    const name = ownName();
    const retry = { maxAttempts: 2, initialBackoff: duration(1), maxBackoff: duration(1) };
    const before = await openEngine({ journal, telemetry });
    const worker = await connectWorker(before.address, helloOf([{ name }]));
    await before.client.call(method.startCall, { call: { name, callId: name, retry, traceContext } });
    const first = await worker.work();
    await worker.answer(first.leaseToken, {
      case: 'error',
      value: { message: 'once more', retryable: true },
    });
    const second = await worker.work();
    await before[Symbol.asyncDispose]();
    expect(receiver.spans.filter((span) => span.attributes['gen_ai.tool.call.id'] === name)).toMatchObject([
      { name: `dispatch ${name}`, attributes: { 'spindle.attempt.number': 1 } },
    ]);

    await using after = await openEngine({ journal, telemetry });
    const back = await reconnect(after.address, worker, [{ leaseToken: second.leaseToken }]);
    await back.answer(second.leaseToken, textResult('done'));
    const client = openClient(after.address);
    await client.call(method.callTool, { name, callId: name });
    client.close();
    const { call, attempts } = await spansOf(receiver, name);
    expect(call).toMatchObject({ traceId: TRACE_ID, parentSpanId: CALLER, status: 'UNSET' });
    expect(
      attempts.map(({ parentSpanId, attributes }) => [parentSpanId, attributes['spindle.attempt.number']]),
    ).toEqual([
      [call.spanId, 1],
      [call.spanId, 2],
    ]);
    expect(second.dispatch.traceContext['traceparent']).toBe(`00-${TRACE_ID}-${attempts[1]?.spanId}-01`);
    expect(call.start <= (attempts[0]?.start ?? 0n)).toBe(true);
    await rm(folder, { recursive: true, force: true });
  });
});
