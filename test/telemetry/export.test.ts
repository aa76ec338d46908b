import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { start } from '../cli/spindle.ts';
import { openEngine, type TestEngine } from '../e2e/engine.ts';
import { answerAll, holding, ownName } from '../e2e/holding.ts';
import { method, openClient } from '../e2e/raw-client.ts';
import { connectWorker, helloOf, reconnect, textResult } from '../e2e/raw-worker.ts';
import { openReceiver } from './otlp/receiver.ts';

const PROTOCOLS = ['grpc', 'http/protobuf'] as const;
const PARENT = '0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331';

/** Makes calls of one tool, and gives the trace context that its worker got for each. */
async function callOften(engine: TestEngine, count: number, traceContext = {}): Promise<readonly string[]> {
  const name = ownName();
  const worker = await engine.worker([{ name }], { maxInFlight: 64 });
  const seen: string[] = [];
  const calls = Array.from({ length: count }, () =>
    engine.client.call(method.callTool, { name, traceContext }),
  );
  for (const _ of calls) {
    const { dispatch, leaseToken } = await worker.work();
    seen.push(dispatch.traceContext['traceparent'] ?? '');
    worker.send({ case: 'answer', value: { leaseToken, outcome: textResult('done') } });
  }
  const ended = await Promise.all(calls);
  expect(ended.every(({ outcome }) => outcome.case === 'result')).toBe(true);
  worker.vanish();
  return seen;
}

/** A port of loopback on which nobody listens. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

describe('sampling', () => {
  it.each([
    ['always_off', `00-${PARENT}-01`],
    ['parentbased_always_on', `00-${PARENT}-00`],
    ['parentbased_always_off', undefined],
    ['traceidratio', `00-${PARENT}-01`],
  ])('8.7: %s with the parent %s exports nothing, and tells the worker so', async (sampler, traceparent) => {
    await using receiver = await openReceiver('grpc');
    const variables = { ...receiver.variables, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: '0' };
    const engine = await openEngine({ telemetry: { variables } });
    const seen = await callOften(engine, 3, traceparent === undefined ? {} : { traceparent });
    await engine[Symbol.asyncDispose]();
    expect(seen.map((context) => context.slice(-3))).toEqual(['-00', '-00', '-00']);
    expect(receiver.requests).toBe(0);
  });

  it('8.7: a ratio keeps whole traces, or nothing of them, and the worker knows which', async () => {
    await using receiver = await openReceiver('grpc');
    const variables = {
      ...receiver.variables,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.5',
    };
    const engine = await openEngine({ telemetry: { variables } });
    const seen = await callOften(engine, 64);
    await engine[Symbol.asyncDispose]();
    const kept = seen.filter((context) => context.endsWith('-01')).map((context) => context.split('-')[1]);
    // Of 64 that are kept or not by the toss of a coin, none or all would be one chance in 2^63.
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThan(64);
    const exported = receiver.spans.map(({ traceId }) => traceId);
    expect(exported.toSorted()).toEqual([...kept, ...kept].toSorted());
  });
});

describe.each(PROTOCOLS)('a collector, over %s', (protocol) => {
  it('8.7: that is not there costs spans, and no call', async () => {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await deadPort()}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_BSP_SCHEDULE_DELAY: '1',
      OTEL_BSP_EXPORT_TIMEOUT: '50',
    };
    const engine = await openEngine({ telemetry: { variables } });
    await callOften(engine, 20);
    await engine[Symbol.asyncDispose]();
    expect(engine.reports).toContainEqual(expect.objectContaining({ event: 'telemetry_export_failed' }));
  });

  it('8.7: that refuses costs those spans, and no call; what comes later is sent', async () => {
    await using receiver = await openReceiver(protocol);
    receiver.manner = 'refuses';
    await using engine = await openEngine({ telemetry: { variables: receiver.variables } });
    await callOften(engine, 5);
    await receiver.until(({ requests }) => requests > 0);
    expect(receiver.spans).toEqual([]);
    receiver.manner = 'takes';
    const { name, worker, work, end } = await holding(engine);
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    await receiver.until(({ spans }) => spans.some((span) => span.name === `execute_tool ${name}`));
  });

  it('8.7: that does not answer costs spans, no call, and no more memory than its queue', async () => {
    await using receiver = await openReceiver(protocol);
    receiver.manner = 'stalls';
    const variables = {
      ...receiver.variables,
      OTEL_BSP_MAX_QUEUE_SIZE: '8',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '4',
      OTEL_BSP_SCHEDULE_DELAY: '1',
      OTEL_BSP_EXPORT_TIMEOUT: '200',
    };
    const engine = await openEngine({ telemetry: { variables } });
    await callOften(engine, 60);
    await receiver.until(({ requests }) => requests > 0);
    receiver.manner = 'takes';
    await engine[Symbol.asyncDispose]();
    // Two spans a call have been made; the queue holds eight, and one export is on its way at a time.
    expect(receiver.spans.length).toBeLessThan(120);
  });

  it('8.7: gets what waits when the engine is told to stop', async () => {
    await using receiver = await openReceiver(protocol);
    const environment = { ...receiver.variables, OTEL_BSP_SCHEDULE_DELAY: '600000' };
    await using serve = start(['serve', '--journal', 'memory:', '--listen', '127.0.0.1:0', '--http', 'off'], {
      environment,
    });
    const [, address = ''] = await serve.says(/grpc=(\S+)/);
    const name = ownName();
    const worker = await connectWorker(address, helloOf([{ name }]));
    const answering = answerAll(worker, textResult('done'));
    const client = openClient(address);
    await client.call(method.callTool, { name });
    client.close();
    expect(receiver.spans).toEqual([]);
    serve.kill('SIGTERM');
    expect((await serve.ended).code).toBe(0);
    await answering;
    expect(receiver.spans.map((span) => span.name).toSorted()).toEqual([
      `dispatch ${name}`,
      `execute_tool ${name}`,
    ]);
  });

  it('8.7: that does not answer does not hold up the end of the process', async () => {
    await using receiver = await openReceiver(protocol);
    receiver.manner = 'stalls';
    await using serve = start(['serve', '--journal', 'memory:', '--listen', '127.0.0.1:0', '--http', 'off'], {
      environment: { ...receiver.variables, OTEL_BSP_EXPORT_TIMEOUT: '200' },
    });
    const [, address = ''] = await serve.says(/grpc=(\S+)/);
    const client = openClient(address);
    await client.refused(method.callTool, { name: 'has spaces' });
    client.close();
    await receiver.until(({ requests }) => requests > 0);
    serve.kill('SIGTERM');
    const { code, stderr } = await serve.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('telemetry_lost');
  });
});

describe('an engine that is killed in the middle of a trace', () => {
  it('8.2: leaves it to its successor, which ends it once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'spindle-trace-'));
    await using receiver = await openReceiver('grpc');
    const serve = (listen: string) =>
      start(
        ['serve', '--journal', `sqlite:${join(folder, 'spindle.db')}`, '--listen', listen, '--http', 'off'],
        {
          environment: receiver.variables,
        },
      );
    const traceContext = { traceparent: `00-${PARENT}-01` };
    const name = ownName();

    await using first = serve('127.0.0.1:0');
    const [, address = ''] = await first.says(/grpc=(\S+)/);
    const worker = await connectWorker(address, helloOf([{ name }]));
    const client = openClient(address);
    await client.call(method.startCall, { call: { name, callId: name, traceContext } });
    const work = await worker.work();
    client.close();
    first.kill('SIGKILL');
    await first.ended;

    await using second = serve(address);
    await second.says(/grpc=(\S+)/);
    const back = await reconnect(address, worker, [{ leaseToken: work.leaseToken }]);
    await back.answer(work.leaseToken, textResult('done'));
    await receiver.until(({ spans }) => spans.some((span) => span.name === `execute_tool ${name}`));
    second.kill('SIGTERM');
    await second.ended;
    expect(receiver.spans.map((span) => [span.name, span.traceId, span.status]).toSorted()).toEqual([
      [`dispatch ${name}`, PARENT.split('-')[0], 'UNSET'],
      [`execute_tool ${name}`, PARENT.split('-')[0], 'UNSET'],
    ]);
    const dispatched = receiver.spans.find((span) => span.name === `dispatch ${name}`);
    expect(work.dispatch.traceContext['traceparent']).toBe(
      `00-${dispatched?.traceId}-${dispatched?.spanId}-01`,
    );
    back.vanish();
    await rm(folder, { recursive: true, force: true });
  });
});
