import { describe, expect, it } from 'vitest';
import { AccessService } from '../../../gen/spindle/v1/access_service_pb.ts';
import { CallStatus } from '../../../gen/spindle/v1/call_pb.ts';
import { GoAwayReason } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { createClient } from '../../../src/sdk/index.ts';
import { createWorker, defineTool } from '../../../src/sdk/worker/index.ts';
import { method, refusedOf } from '../raw-client.ts';
import { connectWorker, helloOf, reconnect, textResult } from '../raw-worker.ts';
import { CLIENT, OPERATOR, openGuardedEngine, WORKER } from './guarded-engine.ts';

const { revokeToken } = AccessService.method;

describe('a credential that ends', () => {
  it('9.2: sends an idle worker away at once, and lets it come back with another', async () => {
    await using guarded = await openGuardedEngine();
    const [first, second] = [await guarded.token(WORKER), await guarded.token(WORKER)];
    const worker = await guarded.worker(first.secret, [{ name: 't' }]);
    await guarded.admin.call(revokeToken, { tokenId: first.id });
    expect(await worker.next('goAway')).toMatchObject({ reason: GoAwayReason.CREDENTIAL_EXPIRED });
    expect((await worker.status).code).toBe(0);
    await expect(
      connectWorker(guarded.engine.address, helloOf([{ name: 't' }]), { token: first.secret }),
    ).rejects.toThrow('16');
    await guarded.worker(second.secret, [{ name: 't' }]);
  });

  it('9.2: expires by itself, with the streams that it opened', async () => {
    await using guarded = await openGuardedEngine();
    const short = await guarded.token(WORKER, { lifetime: { nanos: 300_000_000 } });
    const worker = await guarded.worker(short.secret, [{ name: 't' }]);
    expect(await worker.next('goAway')).toMatchObject({ reason: GoAwayReason.CREDENTIAL_EXPIRED });
    expect((await worker.status).code).toBe(0);
  });

  it('9.2: lets a worker settle what it holds, and gives it nothing more', async () => {
    await using guarded = await openGuardedEngine();
    const token = await guarded.token(WORKER);
    const worker = await guarded.worker(token.secret, [{ name: 't' }]);
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const ending = client.call(method.callTool, { name: 't', callId: 'held' });
    const { leaseToken } = await worker.work('held');
    await guarded.admin.call(revokeToken, { tokenId: token.id });
    const away = await worker.next('goAway');
    expect([away.reason, away.closesAfter?.seconds, away.reconnectAfter?.seconds]).toEqual([
      GoAwayReason.CREDENTIAL_EXPIRED,
      30n,
      30n,
    ]);
    await client.call(method.startCall, { call: { name: 't', callId: 'later' } });
    expect(await worker.answer(leaseToken, textResult('done'))).toBeDefined();
    expect((await ending).outcome.case).toBe('result');
    expect((await worker.status).code).toBe(0);
    expect((await client.call(method.getCall, { callId: 'later' })).call?.status).toBe(CallStatus.QUEUED);
    expect(worker.inbox.all.filter(({ kind }) => kind.case === 'dispatch')).toHaveLength(1);
  });

  it('9.2: cuts off a worker that does not settle what it holds within the resume grace', async () => {
    await using guarded = await openGuardedEngine({ resumeGraceMs: 300 });
    const token = await guarded.token(WORKER);
    const worker = await guarded.worker(token.secret, [{ name: 't' }]);
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const ending = client.call(method.callTool, { name: 't', callId: 'held' });
    await worker.work('held');
    await guarded.admin.call(revokeToken, { tokenId: token.id });
    expect((await worker.status).code).toBe(0);
    expect((await ending).outcome).toMatchObject({ case: 'error', value: { code: 'outcome_unknown' } });
  });

  it('9.2: lets a worker resume with another credential, and keep what it runs', async () => {
    await using guarded = await openGuardedEngine();
    const [first, second] = [await guarded.token(WORKER), await guarded.token(WORKER)];
    const worker = await guarded.worker(first.secret, [{ name: 't' }]);
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const ending = client.call(method.callTool, { name: 't', callId: 'held' });
    const { leaseToken } = await worker.work('held');
    await guarded.admin.call(revokeToken, { tokenId: first.id });
    await worker.next('goAway');
    const again = await reconnect(
      guarded.engine.address,
      worker,
      [{ leaseToken }],
      {},
      { token: second.secret },
    );
    await again.answer(leaseToken, textResult('done'));
    expect((await ending).outcome.case).toBe('result');
    again.vanish();
  });

  it('9.2: ends what its client waits for, and no call', async () => {
    await using guarded = await openGuardedEngine();
    const token = await guarded.token(CLIENT, { subject: 'ann' });
    const client = guarded.client(token.secret);
    await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 't' }]);
    const waiting = client.refused(method.callTool, { name: 't', callId: 'one' });
    const watching = client.stream(method.streamCallTool, { call: { name: 't', callId: 'two' } });
    const many = client.duplex(method.streamCalls);
    many.send({ calls: [{ name: 't', callId: 'three', allUpdates: true }] });
    await Promise.all([watching.next(), many.next()]);
    await guarded.admin.call(revokeToken, { tokenId: token.id });
    const ends = [await waiting, refusedOf(await watching.status), refusedOf(await many.status)];
    expect(ends.map(({ code, reason }) => [code, reason])).toEqual(
      ends.map(() => ['UNAUTHENTICATED', 'credential_expired']),
    );
    const operator = guarded.client((await guarded.token(OPERATOR)).secret);
    const { calls } = await operator.call(method.listCalls, { onlyUnfinished: true });
    expect(calls.map(({ callId }) => callId).sort()).toEqual(['one', 'three', 'two']);
  });
});

describe('the SDK', () => {
  it('9.2: a worker answers what it runs, then comes back with the next token of its function', async () => {
    await using guarded = await openGuardedEngine();
    const tokens = [await guarded.token(WORKER), await guarded.token(WORKER)];
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    let asked = 0;
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      async execute() {
        entered.resolve();
        await release.promise;
        return 'done';
      },
    });
    const statuses: string[] = [];
    const again = Promise.withResolvers<void>();
    const worker = createWorker({
      address: guarded.engine.address,
      token: () => tokens[Math.min(asked++, 1)]?.secret ?? '',
      tools: [wait],
      signals: [],
      onStatus: (status) => {
        statuses.push(status.kind);
        if (status.kind === 'connected' && status.streamNumber === 2) again.resolve();
      },
    });
    const running = worker.run();
    await worker.ready;
    const token = (await guarded.token(CLIENT)).secret;
    await using client = createClient({ address: guarded.engine.address, token });
    const calling = client.call('wait');
    await entered.promise;
    await guarded.admin.call(revokeToken, { tokenId: tokens[0]?.id ?? '' });
    release.resolve();
    expect((await calling).ok).toBe(true);
    await again.promise;
    expect(statuses).toEqual(['connected', 'go_away', 'disconnected', 'connected']);
    await worker.stop();
    await running;
  });

  it('9.2: a worker with a token that does not change stops, and says why', async () => {
    await using guarded = await openGuardedEngine();
    const token = await guarded.token(WORKER);
    const tool = defineTool({ name: 't', description: 'Nothing.', execute: () => 'done' });
    const worker = createWorker({
      address: guarded.engine.address,
      token: token.secret,
      tools: [tool],
      signals: [],
      onStatus: () => undefined,
    });
    const running = worker.run();
    await worker.ready;
    await Promise.all([
      expect(running).rejects.toMatchObject({ code: 'UNAUTHENTICATED', reason: 'credential_expired' }),
      guarded.admin.call(revokeToken, { tokenId: token.id }),
    ]);
  });
});
