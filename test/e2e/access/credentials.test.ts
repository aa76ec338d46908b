import { create, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AccessService } from '../../../gen/spindle/v1/access_service_pb.ts';
import { ToolResultSchema } from '../../../gen/spindle/v1/result_pb.ts';
import { ruleOf } from '../../../src/rpc/rules.ts';
import { method } from '../raw-client.ts';
import { textResult } from '../raw-worker.ts';
import { endOf, endOfStream, SERVED_METHODS } from './every-method.ts';
import { CLIENT, type GuardedEngine, OPERATOR, openGuardedEngine, WORKER } from './guarded-engine.ts';

const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

/** Posts an empty message to the HTTP port, and gives the reason of the refusal. */
async function reasonOverHttp({ engine }: GuardedEngine, path: string, token?: string) {
  const answer = await fetch(`${engine.url}/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: '{}',
  });
  const text = await answer.text();
  return { status: answer.status, text };
}

/** The same by gRPC-Web, for methods of every kind; gives the status of gRPC. */
async function statusOverWeb({ engine }: GuardedEngine, path: string, token?: string) {
  const answer = await fetch(`${engine.url}/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/grpc-web+proto',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: new Uint8Array(5),
  });
  const text = await answer.text();
  return answer.headers.get('grpc-status') ?? /grpc-status: *(\d+)/.exec(text)?.[1];
}

describe('who is nobody', () => {
  it('9.1, 9.2: is refused by every method of the gRPC port, whatever is presented', async () => {
    await using guarded = await openGuardedEngine();
    const revoked = await guarded.token(OPERATOR);
    await guarded.admin.call(AccessService.method.revokeToken, { tokenId: revoked.id });
    const wrong = `${revoked.secret.slice(0, -1)}${revoked.secret.endsWith('A') ? 'B' : 'A'}`;
    for (const served of SERVED_METHODS) {
      for (const [token, reason] of [
        [undefined, 'unauthenticated'],
        [wrong, 'unauthenticated'],
        ['Basic YTpi', 'unauthenticated'],
        [revoked.secret, 'credential_expired'],
      ] as const) {
        const end = await endOf(guarded.engine.address, served, { token });
        expect([served.name, end.code, end.reason]).toEqual([served.name, 'UNAUTHENTICATED', reason]);
      }
    }
  });

  it('9.1, 9.2: is refused by every method of the HTTP port, whatever is presented', async () => {
    await using guarded = await openGuardedEngine();
    const revoked = await guarded.token(OPERATOR);
    await guarded.admin.call(AccessService.method.revokeToken, { tokenId: revoked.id });
    const wrong = `${revoked.secret.slice(0, -1)}${revoked.secret.endsWith('A') ? 'B' : 'A'}`;
    // Streams in both directions are for the gRPC port.
    const reachable = SERVED_METHODS.filter(({ methodKind }) => methodKind !== 'bidi_streaming');
    for (const token of [undefined, wrong, 'garbage', revoked.secret]) {
      for (const served of reachable) {
        const path = `${served.parent.typeName}/${served.name}`;
        if (served.methodKind === 'unary') {
          const { status, text } = await reasonOverHttp(guarded, path, token);
          expect([path, status, JSON.parse(text).code]).toEqual([path, 401, 'unauthenticated']);
        }
        expect([path, await statusOverWeb(guarded, path, token)]).toEqual([path, '16']);
      }
    }
  });

  it('9.2: cannot ask for the contracts by reflection', async () => {
    await using guarded = await openGuardedEngine();
    expect((await endOfStream(guarded.engine.address, REFLECTION, {})).code).toBe('OK');
    const { secret } = await guarded.token(CLIENT);
    expect((await endOfStream(guarded.engine.address, REFLECTION, {})).code).toBe('UNAUTHENTICATED');
    expect((await endOfStream(guarded.engine.address, REFLECTION, { token: secret })).code).toBe('OK');
  });
});

describe('a role', () => {
  it('9.2: is refused by every method that is not for it, and by no other for that', async () => {
    await using guarded = await openGuardedEngine();
    const secrets = {
      worker: (await guarded.token(WORKER)).secret,
      client: (await guarded.token(CLIENT)).secret,
      operator: (await guarded.token(OPERATOR)).secret,
      administrator: guarded.engine.running.administratorToken,
    };
    for (const [role, token] of Object.entries(secrets)) {
      for (const served of SERVED_METHODS) {
        const { code, reason } = await endOf(guarded.engine.address, served, { token });
        const wanted = ([...ruleOf(served).roles] as string[]).includes(role);
        expect([role, served.name, reason === 'not_permitted' && code === 'PERMISSION_DENIED']).toEqual([
          role,
          served.name,
          !wanted,
        ]);
      }
    }
  });

  it('9.2: works with what it has: a client calls, a worker answers', async () => {
    await using guarded = await openGuardedEngine();
    const worker = await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 't' }]);
    const client = guarded.client((await guarded.token(CLIENT)).secret);
    const ending = client.call(method.callTool, { name: 't', callId: 'c' });
    const { leaseToken } = await worker.work('c');
    await worker.answer(leaseToken, textResult('done'));
    expect((await ending).outcome.case).toBe('result');
  });

  it('9.2: reaches the HTTP port by the same token', async () => {
    await using guarded = await openGuardedEngine();
    const { secret } = await guarded.token(CLIENT);
    expect(await reasonOverHttp(guarded, 'spindle.v1.ToolService/ListTools', secret)).toMatchObject({
      status: 200,
    });
    const denied = await reasonOverHttp(guarded, 'spindle.v1.AccessService/ListTokens', secret);
    expect([denied.status, JSON.parse(denied.text).code]).toEqual([403, 'permission_denied']);
  });
});

describe('globs of a credential', () => {
  it('9.2: a client calls only what they match, by every method that calls', async () => {
    await using guarded = await openGuardedEngine();
    await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 'weather_now' }, { name: 'mail' }]);
    const client = guarded.client((await guarded.token(CLIENT, { tools: ['weather_*'] })).secret);
    const refusal = { code: 'PERMISSION_DENIED', reason: 'not_permitted', metadata: { tool: 'mail' } };
    expect(await client.refused(method.callTool, { name: 'mail' })).toMatchObject(refusal);
    expect(await client.refused(method.startCall, { call: { name: 'mail' } })).toMatchObject(refusal);
    const stream = client.stream(method.streamCallTool, { call: { name: 'mail' } });
    expect((await stream.status).code).toBe(7);
    const many = client.duplex(method.streamCalls);
    many.send({ calls: [{ name: 'mail', callId: 'c' }] });
    expect((await many.next()).updates[0]?.kind).toMatchObject({
      case: 'refused',
      value: { code: 'not_permitted' },
    });
    many.cancel();
    await client.call(method.startCall, { call: { name: 'weather_now' } });
  });

  it('9.2: a client sees only what they match, in lists, searches and errors about unknown names', async () => {
    await using guarded = await openGuardedEngine();
    await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 'weather_now' }, { name: 'mail' }]);
    const client = guarded.client((await guarded.token(CLIENT, { tools: ['weather_*'] })).secret);
    const { tools } = await client.call(method.listTools, {});
    const found = await client.call(method.searchTools, { query: '' });
    expect([tools.map(({ tool }) => tool?.name), found.tools.map(({ name }) => name)]).toEqual([
      ['weather_now'],
      ['weather_now'],
    ]);
  });

  it('9.2: a worker serves only what they match; the rest is refused by name', async () => {
    await using guarded = await openGuardedEngine();
    const { secret } = await guarded.token(WORKER, { tools: ['weather_*'] });
    const worker = await guarded.worker(secret, [{ name: 'weather_now' }, { name: 'mail' }]);
    expect(worker.welcome.refusedTools).toEqual([
      expect.objectContaining({ name: 'mail', reason: expect.stringContaining('credential') }),
    ]);
    worker.send({ case: 'setTools', value: { tools: [{ tool: { name: 'mail' } }] } });
    expect((await worker.next('toolsReply')).refusedTools.map(({ name }) => name)).toEqual(['mail']);
    const client = guarded.client((await guarded.token(OPERATOR)).secret);
    expect((await client.call(method.listTools, { names: ['mail'] })).tools).toEqual([]);
  });

  it('9.2: a worker binds only agents that they match', async () => {
    await using guarded = await openGuardedEngine();
    const { secret } = await guarded.token(WORKER, { agents: ['billing'] });
    await expect(
      guarded.worker(secret, [{ name: 't' }], { agents: [{ agentId: 'support' }] }),
    ).rejects.toThrow('support');
    await guarded.worker(secret, [{ name: 't' }], { agents: [{ agentId: 'billing' }] });
  });
});

describe('who sees what within a tenant', () => {
  it('9.3: calls are their subject’s and the operator’s; for another client they are not there', async () => {
    await using guarded = await openGuardedEngine();
    const [ann, bob] = [
      guarded.client((await guarded.token(CLIENT, { subject: 'ann' })).secret),
      guarded.client((await guarded.token(CLIENT, { subject: 'bob' })).secret),
    ];
    const operator = guarded.client((await guarded.token(OPERATOR)).secret);
    await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 't' }]);
    await ann.call(method.startCall, { call: { name: 't', callId: 'of-ann' } });
    await bob.call(method.startCall, { call: { name: 't', callId: 'of-bob' } });
    expect((await bob.refused(method.getCall, { callId: 'of-ann' })).code).toBe('NOT_FOUND');
    expect((await bob.refused(method.cancelCall, { callId: 'of-ann' })).code).toBe('NOT_FOUND');
    expect((await bob.call(method.listCalls, {})).calls.map(({ callId }) => callId)).toEqual(['of-bob']);
    const listed = await operator.call(method.listCalls, {});
    expect(listed.calls.map(({ callId }) => callId)).toEqual(['of-bob', 'of-ann']);
    const page = await operator.call(method.listCalls, { pageSize: 1 });
    const next = await operator.call(method.listCalls, { pageSize: 1, pageToken: page.nextPageToken });
    expect(next.calls.map(({ callId }) => callId)).toEqual(['of-ann']);
    expect((await operator.call(method.cancelCall, { callId: 'of-ann' })).call?.callId).toBe('of-ann');
  });

  it('4.9: a deferred call is settled by its worker’s credential or an operator’s, not by its caller', async () => {
    await using guarded = await openGuardedEngine();
    const client = guarded.client((await guarded.token(CLIENT, { subject: 'ann' })).secret);
    const other = guarded.client((await guarded.token(CLIENT, { subject: 'bob' })).secret);
    const serving = (await guarded.token(WORKER, { tools: ['t'] })).secret;
    const idle = guarded.client((await guarded.token(WORKER, { tools: ['u'] })).secret);
    const worker = await guarded.worker(serving, [{ name: 't' }]);
    for (const callId of ['one', 'two']) {
      await client.call(method.startCall, { call: { name: 't', callId } });
      const { leaseToken } = await worker.work(callId);
      await worker.answer(leaseToken, { case: 'toolDefer', value: {} });
    }
    const paid = { case: 'result', value: create(ToolResultSchema) } as const;
    const settlement = (callId: string) => ({ callId, outcome: paid });
    expect(await client.refused(method.settleCall, settlement('one'))).toMatchObject({
      reason: 'not_permitted',
    });
    expect((await other.refused(method.settleCall, settlement('one'))).code).toBe('NOT_FOUND');
    expect((await idle.refused(method.settleCall, settlement('one'))).code).toBe('NOT_FOUND');
    await guarded.client(serving).call(method.settleCall, settlement('one'));
    const operator = guarded.client((await guarded.token(OPERATOR)).secret);
    await operator.call(method.settleCall, settlement('two'));
    expect((await client.call(method.getCall, { callId: 'one' })).call?.outcome.case).toBe('result');
  });
});

describe('operators and the administrator', () => {
  it('9.2: an operator makes, lists and ends tokens of its own tenant alone', async () => {
    await using guarded = await openGuardedEngine();
    const foreign = await guarded.token(CLIENT, { tenant: 'other' });
    const operator = guarded.client((await guarded.token(OPERATOR)).secret);
    const { createToken, listTokens, revokeToken } = AccessService.method;
    const made = await operator.call(createToken, { role: CLIENT });
    expect(made.token?.tenant).toBe('acme');
    expect(await operator.refused(createToken, { role: CLIENT, tenant: 'other' })).toMatchObject({
      reason: 'not_permitted',
    });
    expect((await operator.refused(listTokens, { tenant: 'other' })).reason).toBe('not_permitted');
    expect((await operator.refused(revokeToken, { tokenId: foreign.id })).code).toBe('NOT_FOUND');
    const { tokens } = await operator.call(listTokens, {});
    expect(tokens.map(({ tenant }) => tenant)).toEqual(['acme', 'acme']);
    const all = await guarded.admin.call(listTokens, {});
    expect(all.tokens).toHaveLength(3);
  });

  it('9.1: an anonymous caller cannot make the first token, and so decide who else may come', async () => {
    await using guarded = await openGuardedEngine();
    const refusal = await guarded.engine.client.refused(AccessService.method.createToken, { role: OPERATOR });
    expect(refusal.reason).toBe('not_permitted');
  });

  it('9.4: lists hold no secret', async () => {
    await using guarded = await openGuardedEngine();
    const { secret } = await guarded.token(CLIENT);
    const answer = await guarded.admin.call(AccessService.method.listTokens, {});
    const bytes = toBinary(AccessService.method.listTokens.output, answer);
    expect(Buffer.from(bytes).includes(secret.split('.')[1] ?? '-')).toBe(false);
  });
});
