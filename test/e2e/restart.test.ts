import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../gen/spindle/v1/event_pb.ts';
import { instantOf } from '../../src/core/time.ts';
import { CallStatus } from '../../src/sdk/index.ts';
import { GATED, ONCE } from './chaos/programs/work.ts';
import { AT_ONCE, openScene, type Scene } from './chaos/scene.ts';
import { readStory } from './chaos/story.ts';
import { connectWorker, helloOf, reconnect, textResult } from './raw-worker.ts';

/** Longer than everything else in a test, so that no grace is over by itself. */
const LONG_MS = 120_000;
/** Of the graces that a test waits for. */
const SHORT_MS = 500;

const TIMEOUT = { timeout: 2 * LONG_MS };

function kinds(log: readonly SessionEvent[] | undefined): (string | undefined)[] {
  return (log ?? []).map(({ kind }) => kind.case);
}

/** Starts calls of the gated tool, and waits until their handlers hold them. */
async function holdCalls(scene: Scene, count: number) {
  const worker = await scene.startWorker();
  const callIds = Array.from({ length: count }, (_, index) => `held-${index}`);
  for (const callId of callIds) await scene.client.start(GATED, { ...AT_ONCE }, { callId });
  for (const _ of callIds) await worker.next('held');
  return { worker, callIds };
}

describe('an engine that is killed and started again', () => {
  it.each([
    ['while it is down', false],
    ['once it is back', true],
  ])('5.7, 5.8: handlers that end %s deliver, and have run once', TIMEOUT, async (_, back) => {
    await using scene = await openScene(LONG_MS);
    const { worker, callIds } = await holdCalls(scene, 20);
    await scene.endEngine('SIGKILL');
    if (!back) worker.tell({ kind: 'release' });
    await scene.startEngine();
    await worker.next('connected');
    if (back) worker.tell({ kind: 'release' });
    const ends = await Promise.all(
      callIds.map((callId) => scene.client.call(GATED, { ...AT_ONCE }, { callId })),
    );
    expect(ends.map(({ ok, attempts }) => ({ ok, attempts }))).toEqual(
      callIds.map(() => ({ ok: true, attempts: 1 })),
    );
    const effects = await scene.effects();
    expect(effects.map(({ callId }) => callId).sort()).toEqual([...callIds].sort());
    const logs = await scene.logs();
    const once = ['toolCallRequested', 'toolCallDispatched', 'toolCallFinished'];
    expect([...logs.values()].map(kinds)).toEqual(callIds.map(() => once));
  });

  it(
    '4.3, 5.6: a dispatch that its worker has not read waits again, as the same attempt',
    TIMEOUT,
    async () => {
      await using scene = await openScene(LONG_MS);
      const tools = [{ name: ONCE }];
      const worker = await connectWorker(scene.home.address, helloOf(tools));
      await scene.client.start(ONCE, { ...AT_ONCE }, { callId: 'unread' });
      const before = await worker.work('unread');
      await scene.endEngine('SIGKILL');
      await scene.startEngine();
      // It says that it holds nothing: whatever came to it on the older stream was not started.
      const again = await reconnect(scene.home.address, worker);
      const after = await again.work('unread');
      expect(after.leaseToken).not.toBe(before.leaseToken);
      expect(after.execute).toMatchObject({ attempt: 1, idempotencyKey: before.execute.idempotencyKey });
      await again.answer(after.leaseToken, textResult('done'));
      expect(await scene.client.call(ONCE, { ...AT_ONCE }, { callId: 'unread' })).toMatchObject({
        ok: true,
        attempts: 1,
      });
      again.vanish();
      const log = (await scene.logs()).get('unread') ?? [];
      expect(readStory(log).requeues).toEqual(['never_held']);
    },
  );

  it('4.12, 7.1: a call that had ended is not made again, and has the same end', TIMEOUT, async () => {
    await using scene = await openScene(LONG_MS);
    await scene.startWorker();
    const first = await scene.client.call(ONCE, { ...AT_ONCE }, { callId: 'ended' });
    await scene.endEngine('SIGKILL');
    await scene.startEngine();
    expect(await scene.client.call(ONCE, { ...AT_ONCE }, { callId: 'ended' })).toEqual(first);
    expect(await scene.effects()).toHaveLength(1);
  });

  it('5.8: no deadline of a call that runs is over before the grace', TIMEOUT, async () => {
    await using scene = await openScene(LONG_MS);
    const worker = await connectWorker(scene.home.address, helloOf([{ name: ONCE }]));
    const retry = { runTimeoutMs: 300, totalTimeoutMs: 600 };
    await scene.client.start(ONCE, { ...AT_ONCE }, { callId: 'overdue', retry });
    const { leaseToken } = await worker.work('overdue');
    await scene.endEngine('SIGKILL');
    await scene.startEngine();
    const again = await reconnect(scene.home.address, worker, [{ leaseToken }]);
    const deadline = (await scene.client.get('overdue')).requestedAt;
    while (deadline === undefined || Date.now() < instantOf(deadline) + 600) await pause(10);
    await again.heartbeat(0, leaseToken);
    expect((await scene.client.get('overdue')).status).toBe(CallStatus.RUNNING);
    const acknowledged = await again.answer(leaseToken, textResult('late, and in time'));
    expect(acknowledged.reason).toBe('');
    expect(await scene.client.call(ONCE, { ...AT_ONCE }, { callId: 'overdue' })).toMatchObject({
      ok: true,
      text: 'late, and in time',
    });
    again.vanish();
  });

  it('4.6, 5.8: a worker that does not come back within the grace has lost its calls', TIMEOUT, async () => {
    await using scene = await openScene(SHORT_MS);
    const { worker, callIds } = await holdCalls(scene, 3);
    worker.signal('SIGKILL');
    await worker.exited;
    await scene.endEngine('SIGKILL');
    const launchedAt = Date.now();
    await scene.startEngine();
    const ends = await Promise.all(
      callIds.map((callId) => scene.client.call(GATED, { ...AT_ONCE }, { callId })),
    );
    const lost = { ok: false, error: { code: 'outcome_unknown', mayHaveTakenEffect: true } };
    expect(ends).toMatchObject(callIds.map(() => lost));
    for (const log of (await scene.logs()).values()) {
      const [end] = readStory(log).losses;
      expect(end?.at).toBeGreaterThanOrEqual(launchedAt + SHORT_MS);
    }
  });
});

describe('a process that is frozen', () => {
  it(
    '4.5, 4.6: a worker that wakes after its grace answers too late, and changes nothing',
    TIMEOUT,
    async () => {
      await using scene = await openScene(SHORT_MS);
      const { worker, callIds } = await holdCalls(scene, 3);
      worker.signal('SIGSTOP');
      await scene.endEngine('SIGKILL');
      await scene.startEngine();
      const join = () =>
        Promise.all(callIds.map((callId) => scene.client.call(GATED, { ...AT_ONCE }, { callId })));
      const ends = await join();
      expect(ends).toMatchObject(callIds.map(() => ({ ok: false, error: { code: 'outcome_unknown' } })));
      worker.signal('SIGCONT');
      await worker.next('connected');
      worker.tell({ kind: 'release' });
      // A drain ends when every answer is acknowledged.
      worker.signal('SIGTERM');
      expect(await worker.exited).toEqual({ code: 0, signal: null });
      expect(await join()).toEqual(ends);
      const logs = await scene.logs();
      const expected = ['toolCallRequested', 'toolCallDispatched', 'toolCallFinished', 'toolCallLateAnswer'];
      expect([...logs.values()].map(kinds)).toEqual(callIds.map(() => expected));
    },
  );

  it(
    '5.8: an engine that stood still reads what came meanwhile before it looks at its clocks',
    TIMEOUT,
    async () => {
      await using scene = await openScene(LONG_MS);
      const worker = await scene.startWorker();
      const retry = { runTimeoutMs: 1_000 };
      await scene.client.start(GATED, { ...AT_ONCE }, { callId: 'stalled', retry });
      await worker.next('held');
      scene.engine().signal('SIGSTOP');
      worker.tell({ kind: 'release' });
      // Until the deadline has passed by more than what counts as a stall.
      await pause(3_000);
      scene.engine().signal('SIGCONT');
      expect(await scene.client.call(GATED, { ...AT_ONCE }, { callId: 'stalled' })).toMatchObject({
        ok: true,
      });
    },
  );
});
