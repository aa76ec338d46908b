import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { RetryPolicySchema } from '../../gen/spindle/v1/retry_pb.ts';
import { BLOB_COLLECTION_INTERVAL_MS, BLOB_GRACE_MS, PRUNE_INTERVAL_MS } from '../../src/core/limits.ts';
import { directCallSession } from '../../src/core/session.ts';
import { duration } from '../../src/core/time.ts';
import {
  CALLER,
  hello,
  type Outcome,
  TENANT,
  textResult,
  type VirtualCall,
  type VirtualEngine,
  virtualEngine,
} from './virtual.ts';

const DAY = 24 * 3_600_000;
const RETAIN = 7 * DAY;
const DIRECT = { sessionId: '', callId: 'one' };

const IMAGE: Outcome = {
  case: 'result',
  value: {
    content: [{ kind: { case: 'image', value: { data: new Uint8Array([1, 2, 3]), mimeType: 'image/png' } } }],
  },
};

async function endCall(spindle: VirtualEngine, outcome = textResult('done')) {
  const worker = await spindle.connect(hello('w', ['t']));
  const call = spindle.call({ name: 't', callId: 'one' });
  await spindle.settle();
  const { leaseToken, execute } = worker.execute(0);
  await worker.answer(leaseToken, outcome);
  expect(call.end?.outcome.case).toBe('result');
  return { call, execute };
}

/** Without workers, whose heartbeats would all have to be played. */
async function pass(spindle: VirtualEngine, millis: number): Promise<void> {
  spindle.clock.moveTo(spindle.clock.now() + millis - PRUNE_INTERVAL_MS);
  await spindle.advance(PRUNE_INTERVAL_MS);
}

function uriOf({ end }: VirtualCall): string {
  const [content] = end?.outcome.case === 'result' ? end.outcome.value.content : [];
  return content?.kind.case === 'blob' ? content.kind.value.uri : '';
}

async function digestIn({ journal }: VirtualEngine): Promise<string> {
  for await (const { kind } of journal.read({ tenant: TENANT, sessionId: directCallSession('one') }, 0)) {
    if (kind.case === 'toolCallRequested') return kind.value.toolDigest;
  }
  return '';
}

describe('retention', () => {
  it('4.12: an ended call is kept as long as configured, then it is gone and its id is free', async () => {
    const spindle = await virtualEngine(1, RETAIN);
    const first = await endCall(spindle);
    await pass(spindle, RETAIN - 2 * PRUNE_INTERVAL_MS);
    expect(await spindle.engine.calls.get(CALLER, DIRECT)).toMatchObject({ ok: true });
    await pass(spindle, 3 * PRUNE_INTERVAL_MS);
    expect(await spindle.engine.calls.get(CALLER, DIRECT)).toMatchObject({
      ok: false,
      refusal: { reason: 'call_not_found' },
    });
    expect(spindle.reports).toContainEqual({ level: 'info', event: 'pruned', facts: { sessions: 1 } });

    const worker = await spindle.connect(hello('w2', ['t']));
    const again = spindle.call({ name: 't', callId: 'one', arguments: '{"other":1}' });
    await spindle.settle();
    expect(again.refusal).toBeUndefined();
    // The same id, and another call: a system that deduplicates must not take it for the old one (4.7).
    expect(worker.execute(0).execute.idempotencyKey).not.toBe(first.execute.idempotencyKey);
  });

  it('4.12: what has not ended is kept, however old', async () => {
    const spindle = await virtualEngine(1, DAY);
    const call = spindle.call({
      name: 't',
      callId: 'one',
      retry: create(RetryPolicySchema, {
        queueTimeout: duration(90 * DAY),
        totalTimeout: duration(90 * DAY),
      }),
    });
    await spindle.connect(hello('w', ['t'])).then((worker) => worker.vanish());
    await pass(spindle, 30 * DAY);
    expect(call.refusal).toBeUndefined();
    expect((await spindle.engine.calls.get(CALLER, DIRECT)).ok).toBe(true);
  });

  it('4.12: goes on with what an earlier process left, and many at once', async () => {
    const before = await virtualEngine(1, DAY);
    const calls = Array.from({ length: 250 }, (_, index) =>
      before.call({ name: 'nobody', callId: `c${index}` }),
    );
    await before.advance(120_000);
    expect(calls.filter(({ end }) => end === undefined)).toEqual([]);
    const spindle = await before.restart();
    await pass(spindle, 2 * DAY);
    await spindle.advance(60_000);
    const left = await spindle.journal.list({
      tenant: TENANT,
      kind: 'call',
      subject: CALLER.subject,
      onlyUnfinished: false,
      limit: 9,
    });
    expect(left?.sessionIds).toEqual([]);
    expect(spindle.reports).toContainEqual({ level: 'info', event: 'pruned', facts: { sessions: 250 } });
  });

  it('7.4: a full journal puts it off, and the next round does it', async () => {
    const spindle = await virtualEngine(1, DAY);
    await endCall(spindle);
    spindle.journal.pruneFault = 'full';
    await pass(spindle, 2 * DAY);
    expect((await spindle.engine.calls.get(CALLER, DIRECT)).ok).toBe(true);
    expect(spindle.failures).toEqual([]);
    spindle.journal.pruneFault = undefined;
    await spindle.advance(PRUNE_INTERVAL_MS);
    expect((await spindle.engine.calls.get(CALLER, DIRECT)).ok).toBe(false);
  });

  it('7.4: a commit of it that broke off stops the engine like any other', async () => {
    const spindle = await virtualEngine(1, DAY);
    spindle.journal.pruneFault = 'failed';
    await spindle.advance(PRUNE_INTERVAL_MS);
    expect(spindle.failures).toMatchObject([{ kind: 'failed' }]);
  });

  it('3.3: a blob is there as long as its call, and collected later', async () => {
    const spindle = await virtualEngine(1, RETAIN);
    const { call } = await endCall(spindle, IMAGE);
    const uri = uriOf(call);
    expect(uri).toMatch(/^blob:sha256-/);
    await pass(spindle, RETAIN - 3 * PRUNE_INTERVAL_MS);
    expect((await spindle.engine.readBlob(CALLER, uri)).ok).toBe(true);
    await pass(spindle, BLOB_GRACE_MS + BLOB_COLLECTION_INTERVAL_MS);
    await pass(spindle, BLOB_COLLECTION_INTERVAL_MS);
    expect(await spindle.engine.readBlob(CALLER, uri)).toMatchObject({
      ok: false,
      refusal: { reason: 'blob_not_found' },
    });
    expect(spindle.reports).toContainEqual(
      expect.objectContaining({ event: 'blobs_collected', facts: expect.objectContaining({ bytes: 3 }) }),
    );
  });

  it('3.3: a blob whose call waits for a full disk is kept, however long that takes', async () => {
    const spindle = await virtualEngine(1, DAY);
    const worker = await spindle.connect(hello('w', ['t']));
    const call = spindle.call({ name: 't', callId: 'one' });
    await spindle.settle();
    spindle.journal.fault = 'full';
    await worker.answer(worker.execute(0).leaseToken, IMAGE);
    await worker.vanish();
    for (let hour = 0; hour < 3; hour += 1) await spindle.advance(BLOB_COLLECTION_INTERVAL_MS);
    spindle.journal.fault = undefined;
    await spindle.advance(PRUNE_INTERVAL_MS);
    expect(call.end?.outcome.case).toBe('result');
    expect((await spindle.engine.readBlob(CALLER, uriOf(call))).ok).toBe(true);
  });

  it('7.5: the definition of a tool that is in use stays, though no call names it any more', async () => {
    const spindle = await virtualEngine(1, DAY);
    await endCall(spindle);
    const digest = await digestIn(spindle);
    for (let day = 0; day < 3; day += 1) await pass(spindle, DAY);
    expect((await spindle.engine.calls.get(CALLER, DIRECT)).ok).toBe(false);
    expect(await spindle.blobs.read(TENANT, digest)).toBeDefined();
  });

  it('ends with the engine: a drain waits for it, and nothing of it is left', async () => {
    const spindle = await virtualEngine(1, DAY);
    await spindle.engine.drain(0);
    const alarms = spindle.clock.alarms;
    await spindle.advance(2 * PRUNE_INTERVAL_MS);
    expect(spindle.clock.alarms).toBeLessThanOrEqual(alarms);
    expect(spindle.reports.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
