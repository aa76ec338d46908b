import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ArgumentRepair } from '../../gen/spindle/v1/tool_pb.ts';
import { duration } from '../../src/core/time.ts';
import { StartError } from '../../src/main.ts';
import { DURATION_BUCKETS } from '../../src/telemetry/metrics.ts';
import { openEngine, type TestEngine } from '../e2e/engine.ts';
import { holding, ownName } from '../e2e/holding.ts';
import { method } from '../e2e/raw-client.ts';
import { textResult } from '../e2e/raw-worker.ts';
import type { ReceivedPoint } from './otlp/messages.ts';
import { openReceiver } from './otlp/receiver.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine({ telemetry: { metrics: '127.0.0.1:0' }, resumeGraceMs: 1 });
});
afterAll(() => engine[Symbol.asyncDispose]());

async function scrape(path = '/metrics', init?: RequestInit): Promise<Response> {
  return fetch(`http://${engine.running.metricsAddress}${path}`, init);
}

/** The value of a series of Prometheus whose line holds all of these. */
async function value(...parts: readonly string[]): Promise<number | undefined> {
  const lines = (await (await scrape()).text()).split('\n');
  const line = lines.find((each) => !each.startsWith('#') && parts.every((part) => each.includes(part)));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

describe('metrics', () => {
  it('8.6: count and time calls by tool and by how they ended', async () => {
    const retry = { maxAttempts: 2, initialBackoff: duration(1), maxBackoff: duration(1) };
    const { name, worker, work, end } = await holding(engine, { retry });
    const error = { message: 'no', code: 'own_code', retryable: true };
    await worker.answer(work.leaseToken, { case: 'error', value: error });
    await worker.answer((await worker.work()).leaseToken, textResult('done'));
    await end();
    const tool = `gen_ai_tool_name="${name}"`;
    expect(await value('gen_ai_execute_tool_duration_count', tool, 'succeeded')).toBe(1);
    expect(await value('spindle_tool_queue_duration_count', tool)).toBe(1);
    // A code of the tool's own is none of a bounded set.
    expect(await value('spindle_tool_retries', tool, 'error_type="_OTHER"')).toBe(1);
    expect(await value('spindle_tool_attempt_duration_count', tool, 'error_type="_OTHER"')).toBe(1);
    expect(await value('spindle_journal_append_duration_count')).toBeGreaterThan(0);
    worker.vanish();
  });

  it('8.6: have _OTHER for a name that nobody declared, and no ids', async () => {
    const name = ownName();
    await engine.client.call(method.callTool, { name, callId: `id-of-${name}` });
    expect(
      await value('gen_ai_execute_tool_duration_count', 'gen_ai_tool_name="_OTHER"', 'unknown_tool'),
    ).toBe(1);
    const text = await (await scrape()).text();
    expect(text).not.toContain(name);
  });

  it('8.6: show what stands: calls in flight, the queue, workers, and slots', async () => {
    const { name, worker, work, end } = await holding(engine);
    worker.send({ case: 'capacity', value: { maxInFlight: 1 } });
    const waiting = engine.client.call(method.callTool, { name });
    await worker.heartbeat(1, work.leaseToken);
    const tool = `gen_ai_tool_name="${name}"`;
    expect(await value('spindle_calls_in_flight', tool, 'spindle_call_state="running"')).toBe(1);
    expect(await value('spindle_calls_in_flight', tool, 'spindle_call_state="queued"')).toBe(1);
    expect(await value('spindle_queue_depth', tool)).toBe(1);
    expect(await value('spindle_workers_connected')).toBe(1);
    expect(await value('spindle_slots_total')).toBe(1);
    expect(await value('spindle_slots_used')).toBe(1);
    expect(await value('spindle_slots_stuck')).toBe(0);
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    await worker.answer((await worker.work()).leaseToken, textResult('done'));
    await waiting;
    expect(await value('spindle_queue_depth', tool)).toBe(0);
    worker.vanish();
  });

  it('8.6: count the steps of repairs, and refused requests', async () => {
    const name = ownName();
    const worker = await engine.worker([{ name, argumentRepair: ArgumentRepair.BOUNDED }]);
    const calling = engine.client.call(method.callTool, { name, arguments: '{"a":1,}' });
    await worker.answer((await worker.work()).leaseToken, textResult('done'));
    await calling;
    await engine.client.refused(method.callTool, { name: 'has spaces' });
    const tool = `gen_ai_tool_name="${name}"`;
    expect(await value('spindle_arguments_repaired', tool, 'spindle_arguments_repair="commas"')).toBe(1);
    expect(await value('spindle_requests_refused', 'invalid_request')).toBe(1);
    worker.vanish();
  });

  it('8.7: go over OTLP as well, with the stated buckets', async () => {
    await using receiver = await openReceiver('grpc');
    const variables = {
      ...receiver.variables,
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_METRIC_EXPORT_INTERVAL: '600000',
    };
    const own = await openEngine({ telemetry: { variables } });
    const { name, worker, work, end } = await holding(own);
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    await own[Symbol.asyncDispose]();
    const of = (metric: string): ReceivedPoint | undefined =>
      receiver.points.find((point) => point.metric === metric);
    expect(of('gen_ai.execute_tool.duration')).toMatchObject({
      unit: 's',
      count: 1,
      bounds: [...DURATION_BUCKETS],
      attributes: { 'gen_ai.tool.name': name, 'spindle.tool.outcome': 'succeeded' },
      resource: { 'service.name': 'spindle' },
    });
    expect(of('spindle.workers.connected')?.unit).toBe('{worker}');
    expect(receiver.spans).toEqual([]);
  });
});

describe('the endpoint for Prometheus', () => {
  it('8.7: serves GET /metrics and nothing else', async () => {
    expect((await scrape('/metrics?x=1')).status).toBe(200);
    expect((await scrape('/metrics', { method: 'POST' })).status).toBe(405);
    expect((await scrape('/')).status).toBe(404);
  });

  it('8.7: on an address that is taken keeps the engine from starting, and says so', async () => {
    const telemetry = { metrics: engine.running.metricsAddress ?? '' };
    await expect(openEngine({ telemetry })).rejects.toThrow(StartError);
    await expect(openEngine({ telemetry })).rejects.toThrow(/EADDRINUSE|in use/);
  });

  it('9.1: is not opened to other machines without being told so', async () => {
    await expect(openEngine({ telemetry: { metrics: '0.0.0.0:0' } })).rejects.toThrow(/insecure/);
  });
});

describe('the dashboard', () => {
  const dashboard: {
    readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
  } = JSON.parse(readFileSync(join(import.meta.dirname, '../../examples/grafana/spindle.json'), 'utf8'));
  const queried = new Set(
    dashboard.panels
      .flatMap(({ targets = [] }) => targets)
      .flatMap(({ expr }) => expr.match(/\b(?:spindle|gen_ai)_\w+_(?:\w+)|\bspindle_\w+/g) ?? []),
  );

  it('asks for series that there are', async () => {
    const text = await (await scrape()).text();
    const names = new Set(text.split('\n').map((line) => /^[\w:]+/.exec(line)?.[0] ?? ''));
    const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, label = '']) => label));
    expect(queried.size).toBeGreaterThan(8);
    expect([...queried].filter((name) => !names.has(name) && !labels.has(name))).toEqual([]);
  });
});
