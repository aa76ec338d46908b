import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { type SessionEvent, SessionEventSchema } from '../../gen/spindle/v1/event_pb.ts';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { GoAwayReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { CALLER, hello, TENANT, textResult, virtualEngine } from './virtual.ts';

describe('a session', () => {
  it('7.1: nothing is dispatched, answered or told before it is durable', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    spindle.journal.hold();
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    expect([call.updates.length, worker.dispatches().length]).toEqual([0, 0]);
    spindle.journal.letGo();
    await spindle.settle();
    expect([call.updates.length, worker.dispatches().length]).toEqual([2, 1]);
    spindle.journal.hold();
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    expect([call.end, worker.acknowledgements().length]).toEqual([undefined, 0]);
    spindle.journal.letGo();
    await spindle.settle();
    expect([call.end?.outcome.case, worker.acknowledgements().length]).toEqual(['result', 1]);
  });

  it('decides what waits in its mailbox in the order of coming, in one append', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    const { leaseToken } = worker.execute(0);
    spindle.journal.hold();
    await worker.send({ case: 'progress', value: { leaseToken, checkpoint: new Uint8Array(1) } });
    const before = spindle.journal.appended;
    await worker.answer(leaseToken, textResult('first'));
    const cancelled = spindle.engine.calls.cancel(CALLER, { sessionId: '', callId: call.callId }, '');
    await worker.answer(leaseToken, textResult('second'));
    spindle.journal.letGo();
    await spindle.settle();
    expect(await cancelled).toMatchObject({ ok: true, value: { outcome: { case: 'result' } } });
    expect(worker.acknowledgements().map(({ verdict }) => verdict)).toEqual([
      AnswerVerdict.RECORDED,
      AnswerVerdict.DUPLICATE,
    ]);
    expect(spindle.journal.appended - before).toBe(2);
  });

  it('7.3: is dropped on a conflict: its waiters are told to come again, and the answer is kept by the log as it is now', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({ name: 't' });
    await spindle.settle();
    // Another engine writes to the session.
    const key = { tenant: TENANT, sessionId: `call:${call.callId}` };
    const events: SessionEvent[] = [];
    for await (const event of spindle.journal.read(key, 0)) events.push(event);
    const { occurredAt } = events.at(-1) ?? {};
    const stranger = create(SessionEventSchema, { sessionId: key.sessionId, sequence: events.length + 1 });
    if (occurredAt !== undefined) stranger.occurredAt = occurredAt;
    const head = { kind: 'call', name: 't', subject: 'somebody', unfinished: true } as const;
    await spindle.journal.append([{ key, expectedSequence: events.length, head, events: [stranger] }]);
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    expect(call.refusal?.reason).toBe('session_moved');
    await spindle.settle();
    expect(worker.acknowledgements().map(({ verdict }) => verdict)).toEqual([AnswerVerdict.RECORDED]);
    const again = spindle.call({ name: 't', callId: call.callId });
    await spindle.settle();
    expect(again.updates.map(({ kind: { case: name } }) => name)).toEqual(['finished']);
    expect(again.end?.outcome.case).toBe('result');
  });

  it('7.4: a full journal refuses requests, and records answers once it has room', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const running = spindle.call({ name: 't' });
    await spindle.settle();
    spindle.journal.fault = 'full';
    const refused = spindle.call({ name: 't', callId: 'refused' });
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    await spindle.advance(5_000);
    expect(refused.refusal?.reason).toBe('overloaded');
    expect(running.end).toBeUndefined();
    expect(worker.acknowledgements()).toEqual([]);
    expect(spindle.failures).toEqual([]);
    spindle.journal.fault = undefined;
    await spindle.advance(1_000);
    expect(running.end?.outcome.case).toBe('result');
    expect(worker.acknowledgements()).toHaveLength(1);
    const again = spindle.call({ name: 't', callId: 'refused' });
    await spindle.settle();
    expect(worker.execute(1).execute.callId).toBe('refused');
    expect(again.refusal).toBeUndefined();
  });

  it('7.4: a broken journal stops the engine: nothing more is taken, and it is told once', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    spindle.journal.fault = 'failed';
    const calls = [spindle.call({ name: 't' }), spindle.call({ name: 't' })];
    await spindle.settle();
    calls.push(spindle.call({ name: 't' }));
    expect(calls.map(({ refusal }) => refusal?.reason)).toEqual(Array(3).fill('journal_unavailable'));
    expect(spindle.failures).toHaveLength(1);
    expect(worker.dispatches()).toEqual([]);
  });
});

describe('a tool that nobody declares', () => {
  it('4.11: within 30 s of the start its calls wait, and go to whoever declares it', async () => {
    const spindle = await virtualEngine();
    const call = spindle.call({ name: 't' });
    await spindle.advance(29_000);
    const worker = await spindle.connect(hello('w', ['t']));
    expect(worker.execute(0).execute.callId).toBe(call.callId);
  });

  it('4.11: those that wait end with unknown_tool when the 30 s are over, and later ones at once, with names like it', async () => {
    const spindle = await virtualEngine();
    const early = spindle.call({ name: 'wether' });
    await spindle.advance(29_999);
    expect(early.end).toBeUndefined();
    await spindle.connect(hello('w', ['weather', 'tides']));
    await spindle.advance(1);
    expect(early.end).toMatchObject({ attempts: 0, outcome: { value: { code: 'unknown_tool' } } });
    const late = spindle.call({ name: 'wheather' });
    await spindle.settle();
    expect(late.end?.outcome.value).toMatchObject({
      code: 'unknown_tool',
      message: expect.stringContaining('Nearest: weather'),
    });
  });

  it('4.11: one whose workers are all gone is still declared: its calls queue', async () => {
    const spindle = await virtualEngine();
    await spindle.advance(31_000);
    const worker = await spindle.connect(hello('w', ['t']));
    await worker.halfClose();
    const call = spindle.call({ name: 't' });
    await spindle.advance(59_000);
    expect(call.end).toBeUndefined();
    const next = await spindle.connect(hello('x', ['t']));
    expect(next.execute(0).execute.callId).toBe(call.callId);
  });
});

describe('a shutdown', () => {
  it('waits for what runs, begins nothing, tells who waits, and sends workers away', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t'], { maxInFlight: 1 }));
    const running = spindle.call({ name: 't' });
    await spindle.settle();
    const waiting = spindle.call({ name: 't' });
    await spindle.settle();
    let drained = false;
    const draining = spindle.engine.drain(10_000).then(() => {
      drained = true;
    });
    expect(spindle.call({ name: 't' }).refusal?.reason).toBe('shutting_down');
    await spindle.settle();
    expect(drained).toBe(false);
    await worker.answer(worker.execute(0).leaseToken, textResult('done'));
    await draining;
    expect(running.end?.outcome.case).toBe('result');
    expect(waiting.refusal?.reason).toBe('shutting_down');
    expect(worker.dispatches()).toHaveLength(1);
    spindle.streams.shutDown(0);
    await spindle.settle();
    expect(worker.frames.flatMap(({ kind }) => (kind.case === 'goAway' ? [kind.value.reason] : []))).toEqual([
      GoAwayReason.SHUTDOWN,
    ]);
    expect(worker.ended).toBe('OK');

    const next = await spindle.restart();
    const other = await next.connect(hello('x', ['t']));
    expect(other.execute(0).execute.callId).toBe(waiting.callId);
  });

  it('does not wait longer than its grace, and rings no alarm afterwards', async () => {
    const spindle = await virtualEngine();
    const worker = await spindle.connect(hello('w', ['t']));
    const running = spindle.call({ name: 't' });
    await spindle.settle();
    const draining = spindle.engine.drain(10_000);
    await spindle.advance(10_000);
    await draining;
    expect(running.refusal?.reason).toBe('shutting_down');
    await worker.answer(worker.execute(0).leaseToken, textResult('too late'));
    await spindle.advance(3_600_000);
    expect(spindle.clock.alarms).toBe(0);
  });
});
