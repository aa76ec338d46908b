import { describe, expect, it } from 'vitest';
import { AccessService, type AuditEntry } from '../../../gen/spindle/v1/access_service_pb.ts';
import { method, type RawClient } from '../raw-client.ts';
import { endOf } from './every-method.ts';
import { CLIENT, type GuardedEngine, OPERATOR, openGuardedEngine, WORKER } from './guarded-engine.ts';

async function entries(client: RawClient): Promise<readonly AuditEntry[]> {
  const stream = client.stream(AccessService.method.readAudit, {});
  await stream.status;
  return stream.all.flatMap((page) => page.entries);
}

const guardedEngine = (): Promise<GuardedEngine> => openGuardedEngine({ audit: true });

describe('the record of who did what', () => {
  it('9.2: names who, by which credential, what, and what became of it; refused ones as well', async () => {
    await using guarded = await guardedEngine();
    const ann = await guarded.token(CLIENT, { subject: 'ann', tools: ['t'] });
    const client = guarded.client(ann.secret);
    await guarded.worker((await guarded.token(WORKER)).secret, [{ name: 't' }]);
    await client.call(method.startCall, {
      call: { name: 't', callId: 'c', arguments: '{"a":"private value"}' },
    });
    await client.refused(method.startCall, { call: { name: 'u', callId: 'd' } });
    await client.refused(AccessService.method.listTokens, {});
    await endOf(guarded.engine.address, method.listTools, { token: 'spindle_wrong.token' });
    const many = client.duplex(method.streamCalls);
    many.send({ calls: [{ name: 't', callId: 'e', allUpdates: true }] });
    await many.next();
    many.cancel();
    const all = await entries(guarded.admin);
    const told = all.map(({ subject, role, credentialId, method: asked, callId, name, outcome }) =>
      [subject, role, credentialId === ann.id ? 'ann' : '', asked.split('/')[1], callId, name, outcome].join(
        ' ',
      ),
    );
    for (const line of [
      'ann client ann StartCall c t ok',
      'ann client ann StartCall d u not_permitted',
      'ann client ann ListTokens   not_permitted',
      '   ListTools   unauthenticated',
      'ann client ann StreamCalls e t ok',
      'administrator administrator  CreateToken   ok',
    ])
      expect(told).toContain(line);
    expect(all.map(({ sequence }) => Number(sequence))).toEqual(all.map((_, at) => at + 1));
    const text = JSON.stringify(all, (_key, value) => (typeof value === 'bigint' ? Number(value) : value));
    for (const secret of ['private value', ann.secret.split('.')[1], 'wrong.token'])
      expect(text).not.toContain(secret);
  });

  it('9.3: shows an operator what its own tenant did', async () => {
    await using guarded = await guardedEngine();
    const operator = guarded.client((await guarded.token(OPERATOR)).secret);
    const other = guarded.client((await guarded.token(CLIENT, { tenant: 'other' })).secret);
    await other.call(method.listTools, {});
    await operator.call(method.listTools, {});
    expect([...new Set((await entries(operator)).map(({ tenant }) => tenant))]).toEqual(['acme']);
  });

  it('is not kept where nobody is asked, unless it is wanted', async () => {
    await using guarded = await openGuardedEngine();
    expect((await guarded.admin.stream(AccessService.method.readAudit, {}).status).code).toBe(12);
  });
});
