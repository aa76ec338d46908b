import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { GoAwayReason } from '../../gen/spindle/v1/worker_service_pb.ts';
import { createEngine } from '../../src/main.ts';
import { openEngine } from './engine.ts';
import { holding } from './holding.ts';
import { method, openClient } from './raw-client.ts';
import { textResult } from './raw-worker.ts';

describe('an engine that stops', () => {
  it('5.3: lets what runs end, then sends workers away and closes their streams with OK', async () => {
    await using engine = await openEngine();
    const { worker, work, end } = await holding(engine);
    const stopped = engine.running.stop(30_000);
    expect((await worker.answer(work.leaseToken, textResult('in time'))).reason).toBe('');
    expect((await end()).outcome.case).toBe('result');
    expect((await worker.next('goAway')).reason).toBe(GoAwayReason.SHUTDOWN);
    expect((await worker.status).code).toBe(status.OK);
    await stopped;
  });

  it('4.8: tells whoever comes while calls still run that it shuts down, and ends with the last of them', async () => {
    await using engine = await openEngine();
    const { worker, work, end } = await holding(engine);
    const stopped = engine.running.stop(30_000);
    const parting = { code: 'UNAVAILABLE', domain: 'spindle.v1', reason: 'shutting_down' };
    expect(await engine.client.refused(method.callTool, { name: 'any' })).toMatchObject(parting);
    expect(await engine.client.refused(method.listCalls, {})).toMatchObject(parting);
    const newcomer = openClient(engine.address);
    expect(await newcomer.refused(method.callTool, { name: 'any' })).toMatchObject(parting);
    newcomer.close();
    await worker.answer(work.leaseToken, textResult('in time'));
    expect((await end()).outcome.case).toBe('result');
    await stopped;
  });

  it('4.10: tells who still waits that it shuts down, when its grace is over', async () => {
    await using engine = await openEngine();
    const { name, worker } = await holding(engine);
    const waiting = engine.client.refused(method.callTool, { name, callId: `${name}-2` });
    await worker.work(`${name}-2`);
    await engine.running.stop(0);
    expect(await waiting).toMatchObject({
      code: 'UNAVAILABLE',
      domain: 'spindle.v1',
      reason: 'shutting_down',
    });
    expect((await worker.next('goAway')).reason).toBe(GoAwayReason.SHUTDOWN);
    expect((await worker.status).code).toBe(status.OK);
  });
});

describe('an engine that cannot start', () => {
  const MEMORY = { journal: 'memory:', listen: '127.0.0.1:0', http: false } as const;

  it.each([
    ['4.8: an address that is none', { listen: 'nowhere' }],
    ['7.3: a journal of an unknown kind', { journal: 'redis://localhost' }],
    ['7.3: a journal in a place that cannot be', { journal: 'sqlite:/dev/null/spindle.db' }],
    ['9.1: an address that other machines reach, without the flag', { listen: '0.0.0.0:0' }],
    ['9.1: the same for HTTP', { http: '0.0.0.0:0' }],
  ])('%s: says what to do', async (_, wrong) => {
    await expect(createEngine({ ...MEMORY, ...wrong })).rejects.toThrow(/\w{3}.*[.:;]/);
  });

  it('says whose port is taken, and leaves the other engine alone', async () => {
    await using engine = await openEngine();
    await expect(createEngine({ ...MEMORY, listen: engine.address })).rejects.toThrow(engine.address);
    expect((await engine.client.call(method.listTools, {})).tools).toEqual([]);
  });
});
