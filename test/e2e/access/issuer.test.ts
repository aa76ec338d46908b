import { describe, expect, it } from 'vitest';
import { GoAwayReason } from '../../../gen/spindle/v1/worker_service_pb.ts';
import { method, openClient } from '../raw-client.ts';
import { connectWorker, helloOf, textResult } from '../raw-worker.ts';
import { openIssuedEngine } from './issuer.ts';

/** An engine that trusts an issuer, whose tokens name their role as their subject, too. */
async function world() {
  const { engine, sign } = await openIssuedEngine();
  return {
    engine,
    sign: (role: string, expires: string | Date = '1h') => sign({ sub: role, spindle_role: role }, expires),
  };
}

describe('the tokens of an issuer', () => {
  it('9.2: are good on every kind of request, also the first time, when they are still being verified', async () => {
    const { engine, sign } = await world();
    const worker = await connectWorker(engine.address, helloOf([{ name: 't' }]), {
      token: await sign('worker'),
    });
    const token = await sign('client');
    const client = openClient(engine.address, { token });
    const ending = client.call(method.callTool, { name: 't', callId: 'c' });
    const { leaseToken } = await worker.work('c');
    await worker.answer(leaseToken, textResult('done'));
    expect((await ending).outcome.case).toBe('result');
    const fresh = openClient(engine.address, { token: await sign('client', '2h') });
    const watching = fresh.stream(method.watchCall, { callId: 'c' });
    expect((await watching.next()).update?.kind.case).toBe('finished');
    const many = openClient(engine.address, { token: await sign('client', '3h') });
    const stream = many.duplex(method.streamCalls);
    stream.send({ calls: [{ name: 't', callId: 'c' }] });
    expect((await stream.next()).updates[0]?.kind.case).toBe('finished');
    stream.cancel();
    const answer = await fetch(`${engine.url}/spindle.v1.ToolService/ListTools`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await sign('client', '4h')}` },
      body: '{}',
    });
    expect(answer.status).toBe(200);
    for (const opened of [client, fresh, many]) opened.close();
    worker.vanish();
  });

  it('9.2: are refused on every kind of request when they are not its own', async () => {
    const [mine, other] = [await world(), await world()];
    const token = await other.sign('client');
    const client = openClient(mine.engine.address, { token });
    expect((await client.refused(method.listTools, {})).code).toBe('UNAUTHENTICATED');
    expect((await client.stream(method.watchCall, { callId: 'c' }).status).code).toBe(16);
    const stream = client.duplex(method.streamCalls);
    stream.send({ calls: [{ name: 't', callId: 'c' }] });
    expect((await stream.status).code).toBe(16);
    client.close();
    const worker = connectWorker(mine.engine.address, helloOf([{ name: 't' }]), {
      token: await other.sign('worker'),
    });
    await expect(worker).rejects.toThrow('16');
  });

  it('9.2: end the streams that they opened when they expire', async () => {
    const { engine, sign } = await world();
    const token = await sign('worker', new Date(Date.now() + 2_000));
    const worker = await connectWorker(engine.address, helloOf([{ name: 't' }]), { token });
    expect((await worker.next('goAway')).reason).toBe(GoAwayReason.CREDENTIAL_EXPIRED);
  });
});

describe('the MCP gateway', () => {
  it('9.2: is for who may call tools', async () => {
    const { engine, sign } = await world();
    const statusOf = async (token?: string) => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      };
      const params = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
      const answer = await fetch(`${engine.url}/mcp`, { method: 'POST', headers, body });
      await answer.body?.cancel();
      return answer.status;
    };
    expect([
      await statusOf(),
      await statusOf(await sign('worker')),
      await statusOf(await sign('client')),
    ]).toEqual([401, 403, 200]);
  });
});
