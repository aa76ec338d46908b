import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { AnswerVerdict } from '../../../gen/spindle/v1/result_pb.ts';
import { CancelReason, GoAwayReason } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { CallStopped, defineTool, text } from '../../../src/sdk/index.ts';
import type { WorkerStatus } from '../../../src/sdk/worker/status.ts';
import { type WorkerOptions, workerOver } from '../../../src/sdk/worker/worker.ts';
import { createVirtualWorld, type FrameInit, type VirtualStream } from '../virtual-world.ts';

const UNAVAILABLE = 14;

/** A worker with one tool, `work`, whose calls end when the test says so. */
function startWorker(options: Partial<WorkerOptions> = {}, draw?: () => number) {
  const world = createVirtualWorld(draw);
  const statuses: WorkerStatus[] = [];
  const calls = new Map<string, { starts: number; end: PromiseWithResolvers<string>; signal: AbortSignal }>();
  const progress = new Map<string, (completed: number) => void>();
  const work = defineTool({
    name: 'work',
    description: 'Works until it is told to stop.',
    execute(_, context) {
      const { callId, signal } = context;
      const end = Promise.withResolvers<string>();
      calls.set(callId, { starts: (calls.get(callId)?.starts ?? 0) + 1, end, signal });
      progress.set(callId, (completed) => context.progress({ completed, activity: `step ${completed}` }));
      return end.promise;
    },
  });
  const worker = workerOver(
    { tools: [work], signals: [], onStatus: (status) => statuses.push(status), ...options },
    world.ports,
  );
  const outcome = { state: 'running', error: undefined as unknown };
  worker.run().then(
    () => {
      outcome.state = 'stopped';
    },
    (error: unknown) => {
      Object.assign(outcome, { state: 'failed', error });
    },
  );
  const call = (leaseToken: string) => {
    const found = calls.get(leaseToken);
    if (found === undefined) throw new Error(`${leaseToken} was not started`);
    return found;
  };
  return {
    ...world,
    get stream() {
      return world.stream;
    },
    worker,
    statuses,
    calls,
    call,
    progress,
    outcome,
    work,
  };
}

const WELCOME: FrameInit = { case: 'welcome', value: { connectionId: 'c', resumeToken: 'r' } };

function dispatch(leaseToken: string, sequence: number, name = 'work'): FrameInit {
  const value = {
    callId: leaseToken,
    name,
    arguments: '{}',
    attempt: 1,
    input: { status: { case: 'valid', value: {} } },
  } as const;
  return {
    case: 'dispatch',
    value: { leaseToken, sequence, trigger: { kind: { case: 'toolExecute', value } } },
  };
}

function acknowledge(leaseToken: string, verdict: AnswerVerdict = AnswerVerdict.RECORDED): FrameInit {
  return { case: 'acknowledge', value: { leaseToken, verdict } };
}

/** The frames of one kind that a stream carried. */
function sent<Case extends string>(stream: VirtualStream, name: Case) {
  return stream.frames.flatMap((frame) => (frame.case === name ? [frame.value] : []));
}

async function welcomed(options: Partial<WorkerOptions> = {}) {
  const run = startWorker(options);
  await run.settle();
  run.stream.send(WELCOME);
  await run.settle();
  return run;
}

describe('a worker, on virtual time', () => {
  it('5.1: the hello is the first frame and the heartbeat follows the welcome at once', async () => {
    const run = startWorker({ name: 'n', buildId: 'b', labels: { zone: 'a' }, maxInFlight: 3 });
    await run.settle();
    expect(run.stream.frames.map((frame) => frame.case)).toEqual(['hello']);
    expect(sent(run.stream, 'hello')).toMatchObject([
      {
        workerName: 'n',
        buildId: 'b',
        labels: { zone: 'a' },
        maxInFlight: 3,
        streamNumber: 1,
        draining: false,
      },
    ]);
    run.stream.send(WELCOME);
    await run.settle();
    expect(run.stream.frames.map((frame) => frame.case)).toEqual(['hello', 'heartbeat']);
    await run.worker.ready;
  });

  it('5.3: beats at the interval that the welcome names, and every 10 s where it names none', async () => {
    const unset = await welcomed();
    for (let beat = 0; beat < 4; beat++) {
      unset.clock.advance(10_000);
      unset.stream.send({ case: 'heartbeatReply', value: { sequence: beat } });
      await unset.settle();
    }
    expect(sent(unset.stream, 'heartbeat')).toHaveLength(5);

    const named = startWorker();
    await named.settle();
    named.stream.send({
      case: 'welcome',
      value: { resumeToken: 'r', heartbeatInterval: { seconds: 2n }, silenceTimeout: { seconds: 7n } },
    });
    await named.settle();
    named.clock.advance(6_500);
    await named.settle();
    expect(sent(named.stream, 'heartbeat').length).toBeGreaterThanOrEqual(2);
    named.clock.advance(500);
    expect(named.stream.state).toBe('cancelled');
  });

  it('5.3: drops a stream that is silent for 30 s, welcome or not, and connects again', async () => {
    const run = startWorker();
    await run.settle();
    run.clock.advance(29_999);
    expect(run.stream.state).toBe('open');
    run.clock.advance(1);
    expect(run.stream.state).toBe('cancelled');
    run.clock.advance(250);
    expect(run.streams).toHaveLength(2);
  });

  it('5.3: waits with full jitter under a bound that doubles from 0.25 s to 15 s, and starts over after a welcome', async () => {
    const run = startWorker({}, () => 0.999_999);
    const waits = () =>
      run.statuses.flatMap((status) =>
        status.kind === 'disconnected' ? [Math.round(status.retryInMs)] : [],
      );
    for (let failures = 0; failures < 9; failures++) {
      run.stream.end(UNAVAILABLE);
      run.clock.advance(15_000);
    }
    expect(waits()).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
    run.stream.send(WELCOME);
    run.stream.end(UNAVAILABLE);
    expect(waits().at(-1)).toBe(250);
  });

  it('5.5: losing a stream stops no handler; the next hello names what is held', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1), dispatch('b', 2));
    await run.settle();
    const first = run.stream;
    first.end(UNAVAILABLE);
    run.call('a').end.resolve('done');
    await run.settle();
    run.clock.advance(250);
    await run.settle();
    expect(sent(run.stream, 'hello')).toMatchObject([
      {
        streamNumber: 2,
        resumeToken: 'r',
        held: [
          { leaseToken: 'a', answered: true },
          { leaseToken: 'b', answered: false },
        ],
      },
    ]);
    run.stream.send(WELCOME);
    await run.settle();
    expect(run.stream.frames.map((frame) => frame.case)).toEqual(['hello', 'heartbeat', 'answer']);
    expect(run.call('b').signal.aborted).toBe(false);
    expect(run.call('a').starts).toBe(1);
  });

  it('5.5: nothing of an older stream is read once a newer one is begun', async () => {
    const run = await welcomed();
    const first = run.stream;
    first.send({ case: 'goAway', value: { reason: GoAwayReason.SHUTDOWN, reconnectAfter: { seconds: 1n } } });
    run.clock.advance(1_000);
    expect(run.streams).toHaveLength(2);
    expect(first.state).toBe('cancelled');
    first.send(dispatch('late', 1));
    await run.settle();
    expect(run.calls.size).toBe(0);
  });

  it('5.6: a heartbeat speaks for the dispatches of its own stream that were read, and names what is held', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1), dispatch('b', 2));
    run.clock.advance(10_000);
    await run.settle();
    expect(sent(run.stream, 'heartbeat').at(-1)).toMatchObject({ receivedThrough: 2, held: ['a', 'b'] });
    run.call('a').end.resolve('done');
    await run.settle();
    run.stream.send(acknowledge('a'));
    run.clock.advance(10_000);
    await run.settle();
    expect(sent(run.stream, 'heartbeat').at(-1)).toMatchObject({ receivedThrough: 2, held: ['b'] });
    run.stream.end(UNAVAILABLE);
    run.clock.advance(250);
    run.stream.send(WELCOME);
    await run.settle();
    expect(sent(run.stream, 'heartbeat')).toMatchObject([{ receivedThrough: 0, held: ['b'] }]);
  });

  it.each([
    ['a tool that it does not serve', dispatch('a', 1, 'other'), /does not serve other/],
    [
      'a trigger that it does not know',
      { case: 'dispatch', value: { leaseToken: 'a', sequence: 1, trigger: {} } } as FrameInit,
      /does not know the trigger/,
    ],
    [
      'a trigger of another kind',
      {
        case: 'dispatch',
        value: { leaseToken: 'a', sequence: 1, trigger: { kind: { case: 'sessionStart', value: {} } } },
      } as FrameInit,
      /session\.start/,
    ],
  ])('5.12: gives back %s', async (_, frame, reason) => {
    const run = await welcomed();
    run.stream.send(frame);
    run.clock.advance(10_000);
    await run.settle();
    expect(sent(run.stream, 'reject')).toMatchObject([
      { leaseToken: 'a', reason: expect.stringMatching(reason) },
    ]);
    expect(sent(run.stream, 'heartbeat').at(-1)).toMatchObject({ receivedThrough: 1, held: [] });
  });

  it('5.12: ignores frames that it does not know, and a second copy of a dispatch', async () => {
    const run = await welcomed();
    run.stream.send({ case: undefined } as unknown as FrameInit, WELCOME, dispatch('a', 1), dispatch('a', 2));
    run.stream.send(acknowledge('nobody'), { case: 'cancel', value: { leaseToken: 'nobody' } });
    await run.settle();
    expect(run.call('a').starts).toBe(1);
    expect(run.outcome.state).toBe('running');
  });

  it.each([
    [CancelReason.UNSPECIFIED, 'cancelled'],
    [CancelReason.CANCELLED, 'cancelled'],
    [CancelReason.DEADLINE, 'deadline'],
    [CancelReason.SUPERSEDED, 'superseded'],
  ] as const)(
    '4.10: cancel reason %i aborts the handler as %s, and its answer still comes',
    async (reason, name) => {
      const run = await welcomed();
      run.stream.send(dispatch('a', 1));
      await run.settle();
      run.stream.send({ case: 'cancel', value: { leaseToken: 'a', reason, grace: { seconds: 3n } } });
      const { signal, end } = run.call('a');
      expect(signal.reason).toBeInstanceOf(CallStopped);
      expect(signal.reason).toMatchObject({ reason: name, graceMs: 3_000 });
      await run.settle();
      expect(sent(run.stream, 'answer')).toEqual([]);
      end.reject(signal.reason);
      await run.settle();
      expect(sent(run.stream, 'answer')).toMatchObject([{ leaseToken: 'a', outcome: { case: 'cancelled' } }]);
    },
  );

  it('4.4: a handler that goes on after its grace is reported, held, and still answered', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1));
    await run.settle();
    run.stream.send({ case: 'cancel', value: { leaseToken: 'a' } });
    run.clock.advance(10_000);
    await run.settle();
    expect(run.statuses).toContainEqual({ kind: 'handler_stuck', callId: 'a', toolName: 'work' });
    expect(sent(run.stream, 'heartbeat').at(-1)).toMatchObject({ held: ['a'] });
    run.call('a').end.resolve('at last');
    await run.settle();
    expect(sent(run.stream, 'answer')).toMatchObject([
      { outcome: { case: 'valueJson', value: '"at last"' } },
    ]);
  });

  it.each(['welcome', 'heartbeatReply'] as const)(
    '5.7: a %s abandons a lease, whose handler stops and answers',
    async (where) => {
      const run = await welcomed();
      run.stream.send(dispatch('a', 1));
      await run.settle();
      if (where === 'welcome') {
        run.stream.end(UNAVAILABLE);
        run.clock.advance(250);
      }
      run.stream.send({ case: where, value: { abandon: ['a'] } } as FrameInit);
      expect(run.call('a').signal.reason).toMatchObject({ reason: 'abandoned' });
      run.call('a').end.resolve('anyway');
      await run.settle();
      expect(sent(run.stream, 'answer')).toMatchObject([{ leaseToken: 'a' }]);
    },
  );

  it('5.7: any verdict ends the duty to resend, and a refused answer is reported', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1), dispatch('b', 2));
    await run.settle();
    run.call('a').end.resolve('x');
    run.call('b').end.resolve('x');
    await run.settle();
    run.stream.send(acknowledge('a', AnswerVerdict.STALE), acknowledge('b', AnswerVerdict.REFUSED));
    run.stream.end(UNAVAILABLE);
    run.clock.advance(250);
    await run.settle();
    expect(sent(run.stream, 'hello')).toMatchObject([{ held: [] }]);
    expect(run.statuses.filter(({ kind }) => kind === 'answer_refused')).toMatchObject([{ callId: 'b' }]);
  });

  it('reports of one tick are one report, the newest of each field, ahead of the answer', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1));
    await run.settle();
    run.progress.get('a')?.(1);
    run.progress.get('a')?.(2);
    run.call('a').end.resolve('x');
    await run.settle();
    expect(sent(run.stream, 'progress')).toMatchObject([
      { leaseToken: 'a', completed: 2, activity: 'step 2' },
    ]);
    expect(run.stream.frames.map((frame) => frame.case).slice(2)).toEqual(['progress', 'answer']);
    run.progress.get('a')?.(3);
    await run.settle();
    expect(sent(run.stream, 'progress')).toHaveLength(1);
  });

  it('5.2: 300 answers of one tick take three messages', async () => {
    const run = await welcomed();
    run.stream.send(...Array.from({ length: 300 }, (_, index) => dispatch(`l${index}`, index + 1)));
    await run.settle();
    for (const { end } of run.calls.values()) end.resolve('x');
    await run.settle();
    expect(run.stream.batches.slice(2)).toEqual([128, 128, 44]);
  });

  it('3.4: an answer above what the engine reads becomes result_too_large, and the stream lives', async () => {
    const large = defineTool({ name: 'large', description: 'Large.', execute: () => 'x'.repeat(20_000) });
    const run = startWorker({ tools: [large] });
    await run.settle();
    run.stream.send({ case: 'welcome', value: { resumeToken: 'r', maxMessageBytes: 16_384 } });
    run.stream.send(dispatch('a', 1, 'large'));
    await run.settle();
    expect(sent(run.stream, 'answer')).toMatchObject([
      { leaseToken: 'a', outcome: { case: 'error', value: { code: 'result_too_large', retryable: false } } },
    ]);
    // Another engine may read more: what is kept is the answer itself.
    run.stream.end(UNAVAILABLE);
    run.clock.advance(250);
    run.stream.send(WELCOME);
    await run.settle();
    expect(sent(run.stream, 'answer')).toMatchObject([{ outcome: { case: 'valueJson' } }]);
  });

  it('5.10: writes nothing to a blocked stream, and goes on when it is free', async () => {
    const run = await welcomed();
    run.stream.blocked = true;
    run.stream.send(dispatch('a', 1), dispatch('b', 2));
    await run.settle();
    run.call('a').end.resolve('x');
    await run.settle();
    expect(sent(run.stream, 'answer')).toHaveLength(1);
    run.call('b').end.resolve('x');
    await run.settle();
    expect(sent(run.stream, 'answer')).toHaveLength(1);
    run.stream.unblock();
    await run.settle();
    expect(sent(run.stream, 'answer')).toHaveLength(2);
  });

  it('setTools and setMaxInFlight tell the engine, and the next hello has them', async () => {
    const other = defineTool({ name: 'other', description: 'Other.', execute: () => 'x' });
    const run = startWorker();
    await run.settle();
    run.worker.setTools([other]);
    run.worker.setMaxInFlight(2);
    await run.settle();
    expect(run.stream.frames.map((frame) => frame.case)).toEqual(['hello']);
    run.stream.send(WELCOME);
    await run.settle();
    expect(sent(run.stream, 'setTools')).toMatchObject([{ tools: [{ tool: { name: 'other' } }] }]);
    expect(sent(run.stream, 'capacity')).toMatchObject([{ maxInFlight: 2 }]);
    run.stream.send({ case: 'toolsReply', value: { refusedTools: [{ name: 'other', reason: 'no' }] } });
    expect(run.statuses).toContainEqual({ kind: 'tools_refused', tools: [{ name: 'other', reason: 'no' }] });
    run.stream.end(UNAVAILABLE);
    run.clock.advance(250);
    await run.settle();
    expect(sent(run.stream, 'hello')).toMatchObject([
      { tools: [{ tool: { name: 'other' } }], maxInFlight: 2 },
    ]);
  });

  it('5.9: a drain finishes what is held, refuses the rest, and half-closes', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1));
    await run.settle();
    void run.worker.stop('deploy');
    await run.settle();
    expect(sent(run.stream, 'drain')).toMatchObject([{ reason: 'deploy' }]);
    run.stream.send(dispatch('b', 2), { case: 'drainReply', value: {} });
    await run.settle();
    expect(sent(run.stream, 'reject')).toMatchObject([{ leaseToken: 'b' }]);
    expect(run.stream.state).toBe('open');
    run.call('a').end.resolve('x');
    await run.settle();
    expect(run.stream.state).toBe('open');
    run.stream.send(acknowledge('a'));
    await run.settle();
    expect(run.stream.state).toBe('half_closed');
    run.stream.end(0);
    await run.settle();
    expect(run.outcome.state).toBe('stopped');
    expect(run.statuses.at(-1)).toEqual({ kind: 'stopped', unfinished: 0 });
  });

  it('5.9: a draining worker that reconnects says so, delivers, and parts', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1));
    await run.settle();
    void run.worker.stop();
    await run.settle();
    run.stream.end(UNAVAILABLE);
    run.clock.advance(250);
    await run.settle();
    expect(sent(run.stream, 'hello')).toMatchObject([{ draining: true, held: [{ leaseToken: 'a' }] }]);
    run.call('a').end.resolve('x');
    run.stream.send(WELCOME);
    await run.settle();
    run.stream.send(acknowledge('a'));
    await run.settle();
    expect(run.stream.state).toBe('half_closed');
  });

  it('5.9: a drain is bounded by 30 s; then handlers are asked to stop and the worker is done', async () => {
    const run = await welcomed();
    run.stream.send(dispatch('a', 1));
    await run.settle();
    void run.worker.stop();
    await run.settle();
    for (let second = 0; second < 30; second++) {
      expect(run.outcome.state).toBe('running');
      run.clock.advance(1_000);
      if (second < 29) run.stream.send({ case: 'heartbeatReply', value: {} });
      await run.settle();
    }
    expect(run.outcome.state).toBe('stopped');
    expect(run.call('a').signal.reason).toMatchObject({ reason: 'shutdown' });
    expect(run.statuses.at(-1)).toEqual({ kind: 'stopped', unfinished: 1 });
  });

  it('5.9: a worker that is not connected and holds nothing stops at once', async () => {
    const run = startWorker();
    run.stream.end(UNAVAILABLE);
    void run.worker.stop();
    await run.settle();
    expect(run.outcome.state).toBe('stopped');
    run.clock.advance(60_000);
    expect(run.streams).toHaveLength(1);
    await expect(run.worker.ready).rejects.toThrow(/stopped before/);
  });

  it('a hung handler and a throwing onStatus harm nobody', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const run = await welcomed({
      onStatus: () => {
        throw new Error('not today');
      },
    });
    run.stream.send(dispatch('hung', 1), dispatch('a', 2, 'nobody'), dispatch('b', 3));
    await run.settle();
    run.call('b').end.resolve('x');
    await run.settle();
    expect(sent(run.stream, 'answer')).toMatchObject([{ leaseToken: 'b' }]);
    expect(printed).toHaveBeenCalledWith(expect.stringContaining('not today'));
    printed.mockRestore();
  });

  it('refuses options that no engine would take', () => {
    const world = createVirtualWorld();
    const { work } = startWorker();
    expect(() => workerOver({ tools: [work, work] }, world.ports)).toThrow(/two tools are named work/);
    expect(() => workerOver({ tools: [], maxInFlight: -1 }, world.ports)).toThrow(/maxInFlight is -1/);
    const huge = Array.from({ length: 5 }, (_, index) =>
      defineTool({ name: `t${index}`, description: 'x'.repeat(1_000_000), execute: () => text('') }),
    );
    expect(() => workerOver({ tools: huge }, world.ports)).toThrow(/bytes/);
  });
});

describe('a worker, whatever happens in whatever order', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constant('dispatch' as const) },
    { weight: 3, arbitrary: fc.constant('finish' as const) },
    { weight: 2, arbitrary: fc.constant('acknowledge' as const) },
    { weight: 1, arbitrary: fc.constant('cut' as const) },
    { weight: 1, arbitrary: fc.constant('beat' as const) },
    { weight: 1, arbitrary: fc.constant('cancel' as const) },
  );

  it('5.5, 5.7: each dispatch runs once, is answered until acknowledged, and is named while it is held', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, fc.nat()), { maxLength: 40 }), async (steps) => {
        const run = await welcomed();
        const given: string[] = [];
        const finished = new Set<string>();
        const acknowledged = new Set<string>();
        let sequence = 0;
        const answersOn = (stream: VirtualStream) =>
          stream.frames.flatMap((frame) => (frame.case === 'answer' ? [frame.value.leaseToken] : []));
        const pick = (from: readonly string[], index: number) => from[index % Math.max(1, from.length)];

        for (const [action, index] of steps) {
          const running = given.filter((lease) => !finished.has(lease));
          const answered = answersOn(run.stream).filter((lease) => !acknowledged.has(lease));
          switch (action) {
            case 'dispatch':
              given.push(`l${given.length}`);
              run.stream.send(dispatch(`l${given.length - 1}`, ++sequence));
              break;
            case 'finish': {
              const lease = pick(running, index);
              if (lease !== undefined) run.call(lease).end.resolve('x');
              if (lease !== undefined) finished.add(lease);
              break;
            }
            case 'acknowledge': {
              const lease = pick(answered, index);
              if (lease !== undefined) run.stream.send(acknowledge(lease));
              if (lease !== undefined) acknowledged.add(lease);
              break;
            }
            case 'cut':
              run.stream.end(UNAVAILABLE);
              run.clock.advance(15_000);
              await run.settle();
              sequence = 0;
              run.stream.send(WELCOME);
              break;
            case 'beat':
              run.clock.advance(10_000);
              run.stream.send({ case: 'heartbeatReply', value: {} });
              break;
            case 'cancel': {
              const lease = pick(running, index);
              if (lease !== undefined) run.stream.send({ case: 'cancel', value: { leaseToken: lease } });
              break;
            }
          }
          await run.settle();
        }
        const held = given.filter((lease) => !acknowledged.has(lease)).sort();
        run.clock.advance(10_000);
        await run.settle();
        const heartbeat = run.stream.frames.findLast((frame) => frame.case === 'heartbeat');
        expect([...(heartbeat?.value?.held ?? [])].sort()).toEqual(held);
        expect(heartbeat?.value?.receivedThrough).toBe(sequence);
        expect(given.map((lease) => run.call(lease).starts)).toEqual(given.map(() => 1));
        // On one stream an answer goes once; every answer that nobody acknowledged is on the newest.
        for (const stream of run.streams) {
          const answers = answersOn(stream);
          expect(new Set(answers).size).toBe(answers.length);
        }
        const owed = held.filter((lease) => finished.has(lease));
        expect(owed.filter((lease) => !answersOn(run.stream).includes(lease))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
