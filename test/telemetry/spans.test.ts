import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from '../e2e/engine.ts';
import { holding, ownName } from '../e2e/holding.ts';
import { method } from '../e2e/raw-client.ts';
import { textResult } from '../e2e/raw-worker.ts';
import { spansOf } from './call-spans.ts';
import { openReceiver, type Receiver } from './otlp/receiver.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE_ID}-${CALLER}-01`;
const traceContext = { traceparent: TRACEPARENT, tracestate: 'vendor=1', baggage: 'who=me' };

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

describe.each(['grpc', 'http/protobuf'] as const)('over %s', (protocol) => {
  it('8.1, 8.3: a call that succeeds is one tree under the span of its caller', async () => {
    await using collector = await openReceiver(protocol);
    await using own = await openEngine({ telemetry: { variables: collector.variables } });
    const { name, worker, work, end } = await holding(own, { traceContext });
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    const { call, attempts } = await spansOf(collector, name);
    expect(call).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: CALLER,
      name: `execute_tool ${name}`,
      kind: 'INTERNAL',
      status: 'UNSET',
      scope: 'spindle',
      traceState: 'vendor=1',
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': name,
        'spindle.tool.attempts': 1,
        'spindle.tool.outcome': 'succeeded',
        'spindle.arguments.verdict': 'valid',
      },
      resource: { 'service.name': 'spindle' },
    });
    expect(attempts).toMatchObject([
      {
        traceId: TRACE_ID,
        parentSpanId: call.spanId,
        name: `dispatch ${name}`,
        kind: 'CLIENT',
        status: 'UNSET',
        attributes: {
          'gen_ai.tool.name': name,
          'spindle.attempt.number': 1,
          'spindle.worker.name': expect.any(String),
        },
      },
    ]);
    // Backends would count the call twice.
    expect(attempts[0]?.attributes).not.toHaveProperty('gen_ai.operation.name');
    expect(call.start <= (attempts[0]?.start ?? 0n)).toBe(true);
    expect(call.end >= (attempts[0]?.end ?? 0n)).toBe(true);
  });
});

describe('the trace context', () => {
  it('8.2: that a worker gets names the span of its attempt, and keeps what is not ours', async () => {
    const { name, worker, work, end } = await holding(engine, { traceContext });
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    const { attempts } = await spansOf(receiver, name);
    expect(work.dispatch.traceContext).toEqual({
      ...traceContext,
      traceparent: `00-${TRACE_ID}-${attempts[0]?.spanId}-01`,
    });
  });

  it('8.1: of a caller without one is a trace of its own, whose root is the call', async () => {
    const { name, worker, work, end } = await holding(engine);
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    const { call, attempts } = await spansOf(receiver, name);
    expect(call.parentSpanId).toBe('');
    expect(work.dispatch.traceContext['traceparent']).toBe(`00-${call.traceId}-${attempts[0]?.spanId}-01`);
  });

  it.each([
    ['is no traceparent', 'nonsense'],
    ['has no trace id', `00-${'0'.repeat(32)}-${CALLER}-01`],
    ['is of a version that does not exist', `ff-${TRACE_ID}-${CALLER}-01`],
    ['goes on where version 00 ends', `${TRACEPARENT}-more`],
  ])('8.2: that %s costs the caller its trace, and nothing else', async (_, traceparent) => {
    const { name, worker, work, end } = await holding(engine, { traceContext: { traceparent } });
    await worker.answer(work.leaseToken, textResult('done'));
    expect((await end()).outcome.case).toBe('result');
    expect((await spansOf(receiver, name)).call.parentSpanId).toBe('');
  });
});

describe('the spans of a call that fails', () => {
  it('8.4: a call that succeeds after retries is a success, and its failed attempts are errors', async () => {
    const retry = { maxAttempts: 2, initialBackoff: duration(1), maxBackoff: duration(1) };
    const { name, worker, work, end } = await holding(engine, { traceContext, retry });
    const error = { message: 'the secret is 42', code: 'flaky', retryable: true };
    await worker.answer(work.leaseToken, { case: 'error', value: error });
    await worker.answer((await worker.work()).leaseToken, textResult('done'));
    await end();
    const { call, attempts } = await spansOf(receiver, name);
    expect(call).toMatchObject({ status: 'UNSET', attributes: { 'spindle.tool.attempts': 2 } });
    expect(call.attributes).not.toHaveProperty('error.type');
    expect(call.events).toMatchObject([
      { name: 'spindle.attempt.failed', attributes: { 'spindle.attempt.number': 1, 'error.type': 'flaky' } },
    ]);
    expect(attempts.map(({ status, attributes }) => [status, attributes['error.type']])).toEqual([
      ['ERROR', 'flaky'],
      ['UNSET', undefined],
    ]);
    expect(new Set(attempts.map(({ spanId }) => spanId)).size).toBe(2);
    // What a tool says is content (8.5).
    expect(JSON.stringify(attempts.map(({ message, attributes }) => [message, attributes]))).not.toContain(
      '42',
    );
  });

  it('8.4: a timeout is an error of the attempt and of the call', async () => {
    const { name, end } = await holding(engine, { retry: { runTimeout: duration(20) } });
    await end();
    const { call, attempts } = await spansOf(receiver, name);
    expect([call, ...attempts]).toMatchObject([
      { status: 'ERROR', attributes: { 'error.type': 'run_timeout', 'spindle.tool.outcome': 'failed' } },
      { status: 'ERROR', attributes: { 'error.type': 'run_timeout' } },
    ]);
  });

  it('8.4: a lost worker is an error of the attempt and of the call', async () => {
    await using own = await openEngine({ telemetry: { variables: receiver.variables }, resumeGraceMs: 20 });
    const { name, worker, end } = await holding(own);
    worker.vanish();
    await end();
    const { call, attempts } = await spansOf(receiver, name);
    expect([call, ...attempts].map(({ status, attributes }) => [status, attributes['error.type']])).toEqual([
      ['ERROR', 'outcome_unknown'],
      ['ERROR', 'outcome_unknown'],
    ]);
  });

  it('8.4: a result that breaks its output schema is an error', async () => {
    const { name, worker, work, end } = await holding(engine, {}, { outputSchemaJson: '{"type":"object"}' });
    await worker.answer(work.leaseToken, textResult('no object'));
    await end();
    expect((await spansOf(receiver, name)).call).toMatchObject({
      status: 'ERROR',
      attributes: { 'error.type': 'invalid_output' },
    });
  });

  it('8.4: a tool that reports a failure of its own is an error', async () => {
    const { name, worker, work, end } = await holding(engine);
    await worker.answer(work.leaseToken, { case: 'result', value: { isError: true } });
    await end();
    expect((await spansOf(receiver, name)).call).toMatchObject({
      status: 'ERROR',
      attributes: { 'error.type': 'tool_error' },
    });
  });

  it('8.4: cancelled by a person is no error', async () => {
    const { name, end } = await holding(engine);
    await engine.client.call(method.cancelCall, { callId: name, reason: 'enough' });
    await end();
    const { call, attempts } = await spansOf(receiver, name);
    for (const span of [call, ...attempts]) {
      expect(span).toMatchObject({ status: 'UNSET', attributes: { 'spindle.tool.outcome': 'cancelled' } });
    }
  });
});

describe('the spans of a call that never reaches a worker', () => {
  it('8.1: invalid arguments that the caller wants refused have a span, and no attempt', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name, inputSchemaJson: '{"type":"object","required":["city"]}' }]);
    await engine.client.call(method.callTool, { name, callId: name, requireValidInput: true, traceContext });
    const { call, attempts } = await spansOf(receiver, name);
    expect(call).toMatchObject({
      traceId: TRACE_ID,
      status: 'ERROR',
      attributes: {
        'error.type': 'invalid_arguments',
        'spindle.arguments.verdict': 'invalid',
        'spindle.tool.attempts': 0,
      },
    });
    expect(attempts).toEqual([]);
    worker.vanish();
  });

  it('8.1: a call that no worker takes has a span with the time that it waited', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name }], { maxInFlight: 0 });
    await engine.client.call(method.callTool, { name, callId: name, retry: { queueTimeout: duration(20) } });
    const { call, attempts } = await spansOf(receiver, name);
    expect(call.attributes['error.type']).toBe('queue_timeout');
    expect(call.attributes['spindle.tool.queue.duration']).toBeCloseTo(
      Number(call.end - call.start) / 1e9,
      3,
    );
    expect(attempts).toEqual([]);
    worker.vanish();
  });

  it('8.1: a tool that nobody declared has a span', async () => {
    await using own = await openEngine({ telemetry: { variables: receiver.variables }, resumeGraceMs: 1 });
    const callId = ownName();
    await own.client.call(method.callTool, { name: 'nowhere', callId });
    expect((await spansOf(receiver, callId)).call).toMatchObject({
      name: 'execute_tool nowhere',
      status: 'ERROR',
      attributes: { 'error.type': 'unknown_tool' },
    });
  });

  it('8.1: a request that is refused has a span in the trace of its caller', async () => {
    const callId = ownName();
    const refused = await engine.client.refused(method.callTool, {
      name: 'has spaces',
      callId,
      traceContext,
    });
    expect(refused.reason).toBe('invalid_request');
    expect((await spansOf(receiver, callId)).call).toMatchObject({
      traceId: TRACE_ID,
      parentSpanId: CALLER,
      status: 'ERROR',
      attributes: { 'error.type': 'invalid_request', 'spindle.tool.outcome': 'refused' },
    });
  });
});
