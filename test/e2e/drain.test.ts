import { describe, expect, it } from 'vitest';
import { GATED, ONCE } from './chaos/programs/work.ts';
import { AT_ONCE, openScene } from './chaos/scene.ts';
import { method, openClient } from './raw-client.ts';

const LONG_MS = 120_000;
const SHORT_MS = 500;
const TIMEOUT = { timeout: 2 * LONG_MS };

describe('an engine that gets SIGTERM', () => {
  it(
    '4.8, 4.12: tells callers that it shuts down, and they carry on by the ids of their calls',
    TIMEOUT,
    async () => {
      await using scene = await openScene(LONG_MS);
      const worker = await scene.startWorker();
      const request = { name: GATED, arguments: JSON.stringify(AT_ONCE), callId: 'unary' };
      const raw = openClient(scene.home.address);
      const refused = raw.refused(method.callTool, request);
      const carried = scene.client.call(GATED, { ...AT_ONCE }, { callId: 'carried' });
      await worker.next('held');
      await worker.next('held');

      expect(await scene.endEngine('SIGTERM')).toEqual({ code: 0, signal: null });
      expect(await refused).toMatchObject({ code: 'UNAVAILABLE', reason: 'shutting_down' });
      raw.close();
      await scene.startEngine();
      await worker.next('connected');
      worker.tell({ kind: 'release' });

      expect(await carried).toMatchObject({ ok: true, attempts: 1 });
      const again = openClient(scene.home.address);
      const response = await again.call(method.callTool, request);
      again.close();
      expect(response).toMatchObject({ attempts: 1, outcome: { case: 'result' } });
      const effects = await scene.effects();
      expect(effects.map(({ callId }) => callId).sort()).toEqual(['carried', 'unary']);
    },
  );

  it('7.1: lets what runs end within the grace, and ends as soon as it has', TIMEOUT, async () => {
    await using scene = await openScene(LONG_MS, LONG_MS);
    const worker = await scene.startWorker();
    const carried = scene.client.call(GATED, { ...AT_ONCE }, { callId: 'running' });
    await worker.next('held');
    const ended = scene.endEngine('SIGTERM');
    worker.tell({ kind: 'release' });
    expect(await carried).toMatchObject({ ok: true, attempts: 1 });
    expect(await ended).toEqual({ code: 0, signal: null });
  });

  it(
    '7.1: waits out its grace for a call whose worker is gone, though nobody is connected',
    TIMEOUT,
    async () => {
      await using scene = await openScene(LONG_MS, SHORT_MS);
      const worker = await scene.startWorker();
      await scene.client.start(GATED, { ...AT_ONCE }, { callId: 'orphan' });
      await worker.next('held');
      worker.signal('SIGKILL');
      await worker.exited;
      await scene.client.close();
      expect(await scene.endEngine('SIGTERM')).toEqual({ code: 0, signal: null });
    },
  );
});

describe('a worker that gets SIGTERM', () => {
  it('5.9: finishes what it holds, takes nothing more, and ends with 0', TIMEOUT, async () => {
    await using scene = await openScene(LONG_MS);
    const worker = await scene.startWorker();
    const held = scene.client.call(GATED, { ...AT_ONCE }, { callId: 'held' });
    await worker.next('held');
    worker.signal('SIGTERM');
    await worker.next('draining');
    const successor = await scene.startWorker({ name: 'successor' });
    const next = await scene.client.call(ONCE, { ...AT_ONCE }, { callId: 'next' });
    expect(next).toMatchObject({ ok: true, attempts: 1 });
    worker.tell({ kind: 'release' });
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expect(await held).toMatchObject({ ok: true, attempts: 1 });
    const effects = await scene.effects();
    expect(effects.map(({ callId, worker: by }) => [callId, by])).toEqual([
      ['held', 'worker-1'],
      ['next', 'successor'],
    ]);
    successor.signal('SIGTERM');
    expect(await successor.exited).toEqual({ code: 0, signal: null });
  });

  it('5.9, 4.6: leaves a handler that does not end within its bound, and says so', TIMEOUT, async () => {
    await using scene = await openScene(SHORT_MS);
    const worker = await scene.startWorker({ drainTimeoutMs: 200 });
    const held = scene.client.call(GATED, { ...AT_ONCE }, { callId: 'stuck' });
    await worker.next('held');
    worker.signal('SIGTERM');
    // The program ends with 1 where the SDK tells of calls that it had to leave.
    expect(await worker.exited).toEqual({ code: 1, signal: null });
    expect(await held).toMatchObject({
      ok: false,
      error: { code: 'outcome_unknown', mayHaveTakenEffect: true },
    });
  });
});
