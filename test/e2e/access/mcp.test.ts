import { hash } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AccessService } from '../../../gen/spindle/v1/access_service_pb.ts';
import { connectMcp } from '../../gateway/gateway.ts';
import { method } from '../raw-client.ts';
import { textResult } from '../raw-worker.ts';
import { CLIENT, type GuardedEngine, openGuardedEngine, WORKER } from './guarded-engine.ts';
import { openIssuedEngine } from './issuer.ts';

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** What the gateway answers to a message within a session: its status, and all that it says. */
async function said(url: string, token: string, session: string, message: object) {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': session,
      ...bearer(token),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  });
  return { status: answer.status, text: await answer.text() };
}

const PING = { method: 'ping' };

async function guardedEngine(): Promise<GuardedEngine> {
  const guarded = await openGuardedEngine();
  onTestFinished(() => guarded[Symbol.asyncDispose]());
  return guarded;
}

describe('globs of a credential at the MCP gateway', () => {
  it('9.2: narrow what is listed, found and called, also by the tool that calls tools', async () => {
    const guarded = await guardedEngine();
    const worker = await guarded.worker((await guarded.token(WORKER)).secret, [
      { name: 'weather_now' },
      { name: 'mail' },
    ]);
    const { secret } = await guarded.token(CLIENT, { tools: ['weather_*'] });
    const { client } = await connectMcp(guarded.engine.url, bearer(secret));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['weather_now']);
    const found = await client.callTool({ name: 'tool_search', arguments: { query: 'mail' } });
    expect(JSON.stringify(found)).not.toContain('"mail"');
    await expect(client.callTool({ name: 'mail' })).rejects.toThrow('does not name the tool');
    await expect(
      client.callTool({ name: 'call_tool', arguments: { name: 'mail', arguments: {} } }),
    ).rejects.toThrow('does not name the tool');
    const calling = client.callTool({ name: 'weather_now' });
    await worker.answer((await worker.work()).leaseToken, textResult('sunny'));
    expect((await calling).content).toEqual([{ type: 'text', text: 'sunny' }]);
  });

  it('9.3: find no resource of another tenant, as if it were not there', async () => {
    const guarded = await guardedEngine();
    const worker = await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 't' }]);
    const mine = (await guarded.token(CLIENT)).secret;
    const own = guarded.client(mine);
    const ending = own.call(method.callTool, { name: 't' });
    const data = Buffer.from('a picture of the tenant');
    const image = { data, mimeType: 'image/png' };
    await worker.answer((await worker.work()).leaseToken, {
      case: 'result',
      value: { content: [{ kind: { case: 'image', value: image } }] },
    });
    await ending;
    const uri = `blob:sha256-${hash('sha256', data)}`;
    const owner = await connectMcp(guarded.engine.url, bearer(mine));
    expect((await owner.client.readResource({ uri })).contents).toMatchObject([
      { blob: data.toString('base64') },
    ]);
    const { secret } = await guarded.token(CLIENT, { tenant: 'other' });
    const { client } = await connectMcp(guarded.engine.url, bearer(secret));
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_002 });
  });
});

describe('a session of the MCP gateway', () => {
  it('9.3: is for another subject, credential or tenant as if it were not there', async () => {
    const guarded = await guardedEngine();
    const { url } = guarded.engine;
    const ann = (await guarded.token(CLIENT, { subject: 'ann' })).secret;
    const { transport } = await connectMcp(url, bearer(ann));
    const session = transport.sessionId ?? '';
    for (const more of [{ subject: 'bob' }, { subject: 'ann' }, { subject: 'ann', tenant: 'other' }]) {
      const { secret } = await guarded.token(CLIENT, more);
      const foreign = await said(url, secret, session, PING);
      expect(foreign).toEqual(await said(url, secret, 'no-such-session', PING));
      expect(foreign.status).toBe(404);
    }
    expect((await said(url, ann, session, PING)).status).toBe(200);
  });

  it('9.2: gives a token of its issuer no rights of another token of the same subject', async () => {
    const issued = await openIssuedEngine();
    const { engine } = issued;
    const sign = (tools: string, expires: string) =>
      issued.sign({ sub: 'ann', spindle_role: 'client', spindle_tools: tools }, expires);
    const { transport } = await connectMcp(engine.url, bearer(await sign('*', '1h')));
    const session = transport.sessionId ?? '';
    expect((await said(engine.url, await sign('weather_*', '1h'), session, PING)).status).toBe(404);
    // The next token with the same rights goes on.
    expect((await said(engine.url, await sign('*', '2h'), session, PING)).status).toBe(200);
  });

  it('9.2: ends what it waits for with its credential, and no call', async () => {
    const guarded = await guardedEngine();
    const { url } = guarded.engine;
    const { id, secret } = await guarded.token(CLIENT, { subject: 'ann' });
    const worker = await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 't' }]);
    const { transport } = await connectMcp(url, bearer(secret));
    const session = transport.sessionId ?? '';
    const calling = said(url, secret, session, { method: 'tools/call', params: { name: 't' } });
    const { leaseToken } = await worker.work();
    await Promise.all([
      expect(calling).rejects.toThrow(),
      guarded.admin.call(AccessService.method.revokeToken, { tokenId: id }),
    ]);
    expect((await said(url, secret, session, PING)).status).toBe(401);
    await worker.answer(leaseToken, textResult('done'));
    const ann = guarded.client((await guarded.token(CLIENT, { subject: 'ann' })).secret);
    const { calls } = await ann.call(method.listCalls, {});
    expect(calls.map(({ outcome }) => outcome.case)).toEqual(['result']);
  });
});
