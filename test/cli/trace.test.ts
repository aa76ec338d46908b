import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from '../e2e/engine.ts';
import { holding, ownName } from '../e2e/holding.ts';
import { textResult } from '../e2e/raw-worker.ts';
import { spindle } from './spindle.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine({ telemetry: { metrics: '127.0.0.1:0' } });
});
afterAll(() => engine[Symbol.asyncDispose]());

async function shown(...args: readonly string[]) {
  return spindle([...args, '--address', engine.address]);
}

/** A call that waited for a worker, failed once, and then succeeded. */
async function retriedCall(): Promise<string> {
  const retry = { maxAttempts: 2, initialBackoff: duration(5), maxBackoff: duration(5) };
  const { name, worker, work, end } = await holding(engine, { retry });
  const error = { message: 'no', code: 'flaky', retryable: true, retryAfter: duration(5) };
  await worker.answer(work.leaseToken, { case: 'error', value: error });
  await worker.answer((await worker.work()).leaseToken, textResult('done'));
  await end();
  worker.vanish();
  return name;
}

describe('spindle trace', () => {
  it('draws a call with its attempts, its waits and its errors', async () => {
    const name = await retriedCall();
    const { code, stdout } = await shown('trace', name);
    expect(code).toBe(0);
    const lines = stdout.trim().split('\n').slice(1);
    const labels = lines.map((line) => line.trim().replace(/ {2,}.*/, ''));
    // A busy machine may keep it waiting for its worker.
    expect(labels.filter((label) => label !== 'queued')).toEqual([name, 'attempt 1', 'backoff', 'attempt 2']);
    expect(lines[1]).toMatch(/█+ .*ms {2}flaky/);
    // Colour is for terminals.
    expect(stdout).not.toContain('\u001b');
  });

  it('is JSON for programs', async () => {
    const name = await retriedCall();
    const { stdout } = await shown('trace', name, '--json');
    const { durationMs, rows } = JSON.parse(stdout);
    expect(durationMs).toBeGreaterThan(5);
    const attempts = rows.filter(({ kind }: { readonly kind: string }) => kind === 'attempt');
    expect(attempts).toMatchObject([
      { depth: 1, label: 'attempt 1', outcome: 'failed', error: 'flaky', running: false },
      { depth: 1, label: 'attempt 2', outcome: 'succeeded', running: false },
    ]);
    expect(rows[0]).toMatchObject({ depth: 0, kind: 'call', label: name, startMs: 0, outcome: 'succeeded' });
  });

  it('shows what still runs', async () => {
    const { name, worker, work, end } = await holding(engine);
    const { stdout } = await shown('trace', name);
    expect(stdout).toMatch(/attempt 1 .*▒.*running/);
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    worker.vanish();
  });

  it('says what to do about an id that nobody knows', async () => {
    const { code, stderr } = await shown('trace', 'no-such-call');
    expect(code).toBe(3);
    expect(stderr).toContain('no-such-call');
  });
});

describe('spindle top', () => {
  it('shows what each tool does, as JSON for programs', async () => {
    const { name, worker, work, end } = await holding(engine);
    const metrics = engine.running.metricsAddress ?? '';
    const { stdout, code } = await shown('top', '--metrics', metrics, '--interval', '50ms', '--json');
    expect(code).toBe(0);
    const frame = JSON.parse(stdout);
    expect(frame).toMatchObject({ workers: 1, slots: { total: 16, used: 1, stuck: 0 }, queued: 0 });
    const tool = frame.tools.find((each: { readonly name: string }) => each.name === name);
    expect(tool).toMatchObject({ workers: 1, running: 1, queued: 0, callsPerSecond: 0 });
    await worker.answer(work.leaseToken, textResult('done'));
    await end();
    worker.vanish();
  });

  it('is a table without --json', async () => {
    const metrics = engine.running.metricsAddress ?? '';
    const name = ownName();
    const worker = await engine.worker([{ name }]);
    const { stdout } = await shown('top', '--metrics', metrics, '--interval', '50ms');
    expect(stdout).toMatch(/calls\/s .* 1 workers/);
    expect(stdout).toMatch(new RegExp(`^${name} +1 +0 +–`, 'm'));
    worker.vanish();
  });

  it('says what to do where there are no metrics', async () => {
    const { code, stderr } = await shown('top', '--metrics', engine.address, '--interval', '50ms');
    expect(code).toBe(4);
    expect(stderr).toContain('--metrics');
  });
});
