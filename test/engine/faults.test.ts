import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { CallStatus } from '../../gen/spindle/v1/call_pb.ts';
import { AnswerVerdict } from '../../gen/spindle/v1/result_pb.ts';
import { ListCallsRequestSchema, SettleCallRequestSchema } from '../../gen/spindle/v1/tool_service_pb.ts';
import { directCallSession } from '../../src/core/session.ts';
import { CALLER, hello, textResult, type VirtualEngine, virtualEngine } from './virtual.ts';

const DIRECT = { sessionId: '', callId: 'sick' };
const DAMAGED = { ok: false, refusal: { reason: 'session_damaged' } };
const SESSION = directCallSession('sick');

async function running() {
  const spindle = await virtualEngine();
  const worker = await spindle.connect(hello('w', ['t']));
  const sick = spindle.call({ name: 't', callId: 'sick' });
  await spindle.settle();
  const well = spindle.call({ name: 't', callId: 'well' });
  await spindle.settle();
  return { spindle, worker, sick, well };
}

function damageReports({ reports }: VirtualEngine) {
  return reports.filter(({ event }) => event === 'session_damaged');
}

describe('a fault of the journal', () => {
  it('7.4: damage that an append meets stops its session alone, and its caller is told', async () => {
    const { spindle, worker, sick, well } = await running();
    spindle.journal.damaged.add(SESSION);
    await worker.answer(worker.execute(0).leaseToken, textResult('lost'));
    await worker.answer(worker.execute(1).leaseToken, textResult('done'));
    expect(sick.refusal?.reason).toBe('session_damaged');
    expect(well.end?.outcome.case).toBe('result');
    expect(spindle.failures).toEqual([]);
    expect(damageReports(spindle)).toHaveLength(1);
    const next = spindle.call({ name: 't', callId: 'next' });
    await spindle.settle();
    expect(next.refusal).toBeUndefined();
  });

  it('7.4, 5.7: an answer that can never be recorded is stale, so that its worker does not bring it for ever', async () => {
    const { spindle, worker } = await running();
    spindle.journal.damaged.add(SESSION);
    const { leaseToken } = worker.execute(0);
    await worker.answer(leaseToken, textResult('lost'));
    await worker.answer(leaseToken, textResult('lost'));
    expect(worker.acknowledgements()).toMatchObject(
      Array(2).fill({ leaseToken, verdict: AnswerVerdict.STALE, reason: expect.stringContaining('damaged') }),
    );
  });

  it('7.4: whoever asks for a damaged call is refused clearly, and its operator is told once', async () => {
    const before = await running();
    await before.worker.answer(before.worker.execute(0).leaseToken, textResult('done'));
    before.spindle.journal.damaged.add(SESSION);
    const spindle = await before.spindle.restart();
    const { calls } = spindle.engine;
    const watcher = { wantsAll: true, update: () => undefined, lost: () => undefined };
    expect(await calls.get(CALLER, DIRECT)).toMatchObject(DAMAGED);
    expect(await calls.watch(CALLER, DIRECT, watcher)).toMatchObject(DAMAGED);
    expect(await calls.cancel(CALLER, DIRECT, '')).toMatchObject(DAMAGED);
    const settle = create(SettleCallRequestSchema, { ...DIRECT, outcome: { case: 'result', value: {} } });
    expect(await calls.settle(CALLER, settle)).toMatchObject(DAMAGED);
    const again = spindle.call({ name: 't', callId: 'sick' });
    await spindle.settle();
    expect(again.refusal?.reason).toBe('session_damaged');
    expect(damageReports(spindle)).toHaveLength(1);
    expect(spindle.failures).toEqual([]);
  });

  it('7.4: a list names a damaged call as such, and every other one as it is', async () => {
    const before = await running();
    before.spindle.journal.damaged.add(SESSION);
    const spindle = await before.spindle.restart();
    const listed = await spindle.engine.calls.list(CALLER, create(ListCallsRequestSchema));
    expect(listed).toMatchObject({
      ok: true,
      value: {
        calls: [
          { callId: 'well', name: 't' },
          { callId: 'sick', name: '', status: CallStatus.DAMAGED, outcome: { case: undefined } },
        ],
      },
    });
  });

  it('7.4: a list by name has no call whose own log names another tool, whatever led to it', async () => {
    const { spindle } = await running();
    const listCalls = async (name: string) => {
      const listed = await spindle.engine.calls.list(CALLER, create(ListCallsRequestSchema, { name }));
      return listed.ok ? listed.value.calls.map(({ callId }) => callId) : listed.refusal.reason;
    };
    expect(await listCalls('other')).toEqual([]);
    spindle.journal.misled = [directCallSession('well')];
    expect(await listCalls('other')).toEqual([]);
    expect(await listCalls('t')).toEqual(['well']);
  });

  it('7.2, 7.4: recovery goes on without a damaged session, and reports it', async () => {
    const before = await running();
    before.spindle.journal.damaged.add(SESSION);
    const spindle = await before.spindle.restart();
    expect(damageReports(spindle)).toMatchObject([
      { level: 'error', facts: { error: `${SESSION} is damaged` } },
    ]);
    expect(spindle.reports).toContainEqual({
      level: 'info',
      event: 'recovered',
      facts: { calls: 1, running: 1, damaged: 1 },
    });
    expect((await spindle.engine.calls.get(CALLER, { sessionId: '', callId: 'well' })).ok).toBe(true);
  });

  it('7.4: only a commit that nobody knows the end of stops the engine', async () => {
    for (const [fault, reason, failures] of [
      ['full', 'overloaded', 0],
      ['overloaded', 'overloaded', 0],
      ['corrupt', 'session_damaged', 0],
      ['closed', 'shutting_down', 0],
      ['unavailable', 'journal_unavailable', 0],
      ['failed', 'journal_unavailable', 1],
    ] as const) {
      const spindle = await virtualEngine();
      spindle.journal.fault = fault;
      const call = spindle.call({ name: 't', callId: 'one' });
      await spindle.settle();
      expect(call.refusal?.reason, fault).toBe(reason);
      expect(spindle.failures, fault).toHaveLength(failures);
    }
  });
});
