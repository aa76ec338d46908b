import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { duration } from '../../src/core/time.ts';
import { type DurableEngine, durableEngine } from './durable-engine.ts';
import { method } from './raw-client.ts';
import { connectWorker, helloOf, type RawWorker, reconnect, textResult } from './raw-worker.ts';

let engine: DurableEngine;
beforeAll(async () => {
  engine = await durableEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

const start = (name: string, callId: string, more: object = {}) =>
  engine.client.call(method.startCall, { call: { name, callId, arguments: '{"n": 1.0}', ...more } });
const read = async (callId: string) => (await engine.client.call(method.getCall, { callId })).call;
const dispatchesOf = (...workers: readonly RawWorker[]) =>
  workers
    .flatMap(({ inbox }) => inbox.all)
    .flatMap(({ kind }) => (kind.case === 'dispatch' ? [kind.value] : []));

describe('an engine that is killed and started again', () => {
  it('7.1: takes up every call where it stood, whatever it was doing', async () => {
    const hello = helloOf([{ name: 'work' }], { maxInFlight: 4 });
    const worker = await connectWorker(engine.address, hello);
    const png = Buffer.from('not really a picture');

    await start('work', 'finished');
    const image = { case: 'image' as const, value: { data: png, mimeType: 'image/png' } };
    await worker.answer((await worker.work('finished')).leaseToken, {
      case: 'result',
      value: { content: [{ kind: image }] },
    });
    await start('work', 'deferred');
    await worker.answer((await worker.work('deferred')).leaseToken, { case: 'toolDefer', value: {} });
    const retry = { maxAttempts: 2 };
    await start('work', 'backing-off', { retry });
    await worker.answer((await worker.work('backing-off')).leaseToken, {
      case: 'error',
      value: { message: 'later', retryable: true, retryAfter: duration(300_000) },
    });
    await start('work', 'held');
    const held = await worker.work('held');
    await start('work', 'answered');
    const answered = await worker.work('answered');
    await start('work', 'never-held');
    const neverHeld = await worker.work('never-held');
    await start('work', 'last-slot');
    await worker.work('last-slot');
    await start('work', 'queued');
    const ids = [
      'finished',
      'deferred',
      'backing-off',
      'held',
      'answered',
      'never-held',
      'last-slot',
      'queued',
    ];
    const before = await Promise.all(ids.map(read));
    expect(before.map((call) => call?.status)).toEqual([
      CallStatus.UNSPECIFIED,
      CallStatus.OPEN,
      CallStatus.BACKING_OFF,
      CallStatus.RUNNING,
      CallStatus.RUNNING,
      CallStatus.RUNNING,
      CallStatus.RUNNING,
      CallStatus.QUEUED,
    ]);

    await engine.kill();
    await worker.status;
    await engine.restart();
    const after = await Promise.all(ids.map(read));
    // Also the wait of the call that backs off goes on where it stood (7.2).
    expect(after).toEqual(before);

    // The engine's secret is kept, so the process is known again by its token (5.8).
    const next = await reconnect(engine.address, worker, [
      { leaseToken: held.leaseToken },
      { leaseToken: answered.leaseToken, answered: true },
    ]);
    expect(next.welcome.abandon).toEqual([]);
    expect((await next.answer(answered.leaseToken, textResult('answered'))).verdict).toBe(
      AnswerVerdict.RECORDED,
    );
    expect((await next.answer(held.leaseToken, textResult('held'))).verdict).toBe(AnswerVerdict.RECORDED);
    for (const callId of ['never-held', 'last-slot', 'queued']) {
      const { leaseToken, execute } = await next.work(callId);
      expect(execute).toMatchObject({ attempt: 1, arguments: '{"n": 1.0}' });
      expect((await next.answer(leaseToken, textResult(callId))).verdict).toBe(AnswerVerdict.RECORDED);
    }
    const settle = {
      callId: 'deferred',
      outcome: { case: 'result' as const, value: { structuredJson: '1' } },
    };
    expect((await engine.client.call(method.settleCall, settle)).verdict).toBe(AnswerVerdict.RECORDED);
    expect((await next.answer(neverHeld.leaseToken, textResult('old'))).verdict).toBe(AnswerVerdict.STALE);

    const ended = await Promise.all(ids.map(read));
    expect(ended.map((call) => call?.outcome.case)).toEqual(
      ids.map((callId) => (callId === 'backing-off' ? undefined : 'result')),
    );
    // What a worker may have begun was given to nobody else.
    for (const callId of ['finished', 'deferred', 'held', 'answered'])
      expect(
        dispatchesOf(worker, next).filter(({ sessionId }) => sessionId === `call:${callId}`),
      ).toHaveLength(1);
    // The same id joins, before and after the restart (4.12); its blob is still there (3.3).
    const again = await engine.client.call(method.callTool, {
      name: 'work',
      callId: 'finished',
      arguments: '{"n": 1.0}',
    });
    const [block] = again.outcome.case === 'result' ? again.outcome.value.content : [];
    const uri = block?.kind.case === 'blob' ? block.kind.value.uri : '';
    const reading = engine.client.stream(method.readBlob, { uri });
    await reading.status;
    expect(Buffer.concat(reading.all.map(({ data }) => data))).toEqual(png);
    const conflict = await engine.client.refused(method.callTool, {
      name: 'work',
      callId: 'held',
      arguments: '{"n":1}',
    });
    expect(conflict).toMatchObject({ code: 'ALREADY_EXISTS', reason: 'call_id_conflict' });
    next.vanish();
  });

  it('7.1: keeps what it acknowledged, and loses no call that it took, at whatever moment it is killed', async () => {
    const hello = helloOf([{ name: 'load' }], { maxInFlight: 64 });
    let worker = await connectWorker(engine.address, hello);
    const taken = new Set<string>();
    const recorded = new Set<string>();
    const ran = new Map<string, number>();
    /** Leases whose answer has no verdict yet, with their calls. */
    const owed = new Map<string, string>();

    const answer = async (leaseToken: string, callId: string): Promise<void> => {
      owed.set(leaseToken, callId);
      const { verdict } = await worker.answer(leaseToken, textResult(callId));
      owed.delete(leaseToken);
      expect([AnswerVerdict.RECORDED, AnswerVerdict.DUPLICATE]).toContain(verdict);
      recorded.add(callId);
    };
    const work = async (): Promise<void> => {
      const { leaseToken, execute } = await worker.work();
      ran.set(execute.callId, (ran.get(execute.callId) ?? 0) + 1);
      await answer(leaseToken, execute.callId);
    };
    /** Does something again and again, until the kill breaks it off. */
    const untilBroken = async (run: (index: number) => Promise<void>): Promise<string> => {
      try {
        for (let index = 0; ; index++) await run(index);
      } catch (error) {
        return String(error);
      }
    };

    for (let round = 1; round <= 3; round++) {
      const calling = untilBroken(async (index) => {
        const { call } = await start('load', `load-${round}-${index}`);
        taken.add(call?.callId ?? '');
      });
      const working = untilBroken(work);
      while (recorded.size < round * 40) await new Promise(setImmediate);
      await engine.kill();
      expect(await Promise.all([calling, working])).toEqual(
        Array(2).fill(expect.stringMatching(/UNAVAILABLE|ended|killed/)),
      );
      await engine.restart();
      for (const callId of recorded) expect((await read(callId))?.outcome.case).toBe('result');
      const held = [...owed.keys()].map((leaseToken) => ({ leaseToken, answered: true }));
      worker = await reconnect(engine.address, worker, held);
      for (const [leaseToken, callId] of [...owed]) await answer(leaseToken, callId);
    }
    while ([...taken].some((callId) => !recorded.has(callId))) await work();
    for (const callId of taken) expect((await read(callId))?.outcome.case).toBe('result');
    expect(new Set(ran.values())).toEqual(new Set([1]));
    worker.vanish();
  });

  it('7.3: has its file alone; a second engine is refused and told why', async () => {
    const { error } = await engine.second();
    expect(error).toMatch(/another|in use|already/i);
    expect((await read('finished'))?.outcome.case).toBe('result');
  });
});
