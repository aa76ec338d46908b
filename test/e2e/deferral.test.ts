import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { CancelReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { duration } from '../../src/core/time.ts';
import { openEngine, type TestEngine } from './engine.ts';
import { holding, stillServes } from './holding.ts';
import { method } from './raw-client.ts';

let engine: TestEngine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine[Symbol.asyncDispose]());

describe('a deferral', () => {
  it('4.9: leaves the call open and frees the slot; settling ends it, once', async () => {
    const held = await holding(engine);
    const { name, worker, work, end, watching } = held;
    worker.send({ case: 'capacity', value: { maxInFlight: 1 } });
    expect((await worker.answer(work.leaseToken, { case: 'toolDefer', value: {} })).verdict).toBe(
      AnswerVerdict.RECORDED,
    );
    await watching.take('open', ({ update }) => (update?.kind.case === 'open' ? true : undefined));
    await stillServes(engine, held);
    const settle = {
      callId: name,
      outcome: {
        case: 'result' as const,
        value: { content: [{ kind: { case: 'text' as const, value: { text: 'outside' } } }] },
      },
    };
    expect((await engine.client.call(method.settleCall, settle)).verdict).toBe(AnswerVerdict.RECORDED);
    expect((await end()).outcome.value).toMatchObject({
      content: [{ kind: { value: { text: 'outside' } } }],
    });
    expect((await engine.client.call(method.settleCall, settle)).verdict).toBe(AnswerVerdict.DUPLICATE);
    const other = { callId: name, outcome: { case: 'error' as const, value: { message: 'no' } } };
    expect((await engine.client.call(method.settleCall, other)).verdict).toBe(AnswerVerdict.STALE);
    worker.vanish();
  });

  it('4.9: that ends later than its call is settled from outside is stale; its worker is told to stop', async () => {
    const { name, worker, work, end } = await holding(engine);
    const outcome = { case: 'error' as const, value: { message: 'from outside', code: 'outside' } };
    expect((await engine.client.call(method.settleCall, { callId: name, outcome })).verdict).toBe(
      AnswerVerdict.RECORDED,
    );
    expect((await end()).outcome.value).toMatchObject({ code: 'outside' });
    expect((await worker.next('cancel')).reason).toBe(CancelReason.SUPERSEDED);
    expect((await worker.answer(work.leaseToken, { case: 'toolDefer', value: {} })).verdict).toBe(
      AnswerVerdict.STALE,
    );
    worker.vanish();
  });

  it('4.9: is over at its own time', async () => {
    const { worker, work, end } = await holding(engine);
    await worker.answer(work.leaseToken, { case: 'toolDefer', value: { timeout: duration(20) } });
    expect((await end()).outcome.value).toMatchObject({ code: 'run_timeout' });
    worker.vanish();
  });

  it('4.9: output is checked when it is settled, and only the attempt in force can be', async () => {
    const { name, worker, work, end } = await holding(engine, {}, { outputSchemaJson: '{"type":"object"}' });
    await worker.answer(work.leaseToken, { case: 'toolDefer', value: {} });
    const value = { structuredJson: '[]' };
    const wrong = await engine.client.refused(method.settleCall, {
      callId: name,
      attempt: 2,
      outcome: { case: 'result', value },
    });
    expect(wrong).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'call_not_open' });
    const { verdict } = await engine.client.call(method.settleCall, {
      callId: name,
      attempt: 1,
      outcome: { case: 'result', value },
    });
    expect(verdict).toBe(AnswerVerdict.REFUSED);
    expect((await end()).outcome.value).toMatchObject({ code: 'invalid_output' });
    worker.vanish();
  });

  it('6.11: an interrupt holds the call and frees the slot; a cancel still ends it', async () => {
    const { name, worker, work, watching, end } = await holding(engine);
    await worker.answer(work.leaseToken, {
      case: 'interrupt',
      value: { reason: 'confirm', payloadJson: '{"sum":1}' },
    });
    const raised = await watching.take('interrupt', ({ update }) =>
      update?.kind.case === 'interrupted' ? update.kind.value : undefined,
    );
    expect(raised).toMatchObject({ reason: 'confirm', interruptId: expect.stringMatching(/./) });
    await engine.client.call(method.cancelCall, { callId: name });
    expect((await end()).outcome.value).toMatchObject({ code: 'cancelled' });
    worker.vanish();
  });
});
