import { describe, expect, it } from 'vitest';
import { createCredentials } from '../../src/access/credentials.ts';
import { administratorToken } from '../../src/access/secret.ts';
import { type NewToken, openTokens, type Tokens } from '../../src/access/tokens.ts';
import { MAX_GLOBS, MAX_TOKENS } from '../../src/core/limits.ts';
import { namesTool, roleOf } from '../../src/core/rights.ts';
import type { TokenStore } from '../../src/engine/ports.ts';
import { createMemoryTokens } from '../../src/journal/memory-tokens.ts';
import { recordOf } from '../contract/tokens.ts';
import { createManualClock } from './manual-clock.ts';

const CLIENT: NewToken = {
  role: 'client',
  tenant: 'acme',
  subject: 'ann',
  tools: ['weather_*'],
  agents: [],
  lifetimeMs: undefined,
};

async function world(store: TokenStore = createMemoryTokens()) {
  const clock = createManualClock();
  let ids = 0;
  const random = { token: () => `token-${String(++ids)}` };
  const tokens = await openTokens({ store, clock, random });
  return { store, clock, tokens, again: () => openTokens({ store, clock, random }) };
}

async function made(tokens: Tokens, token: NewToken = CLIENT) {
  const created = await tokens.create(token);
  if (!created.ok) throw new Error(created.refusal.message);
  return created.value;
}

const present = (tokens: Tokens, authorization: string | undefined, administratorKey?: Uint8Array) =>
  createCredentials({ tokens, administratorKey }).authenticate({
    authorization,
    certificate: () => undefined,
  });

describe('a token', () => {
  it('9.2: makes its caller: role, tenant, subject and globs', async () => {
    const { tokens } = await world();
    const { secret, record } = await made(tokens);
    const identity = await present(tokens, `Bearer ${secret}`);
    expect(identity).toMatchObject({ ok: true, value: { caller: { tenant: 'acme', subject: 'ann' } } });
    if (!identity.ok) throw new Error('refused');
    const { caller } = identity.value;
    expect([roleOf(caller), namesTool(caller, 'weather_now'), namesTool(caller, 'mail')]).toEqual([
      'client',
      true,
      false,
    ]);
    expect(caller.claims['credential']).toBe(record.id);
  });

  it('9.2: keeps a hash, never its secret', async () => {
    const { tokens, store } = await world();
    const { secret, record } = await made(tokens);
    const kept = JSON.stringify(await store.load());
    expect(kept).toContain(record.id);
    expect(kept).not.toContain(secret.split('.')[1]);
    expect(record.hash).toHaveLength(32);
  });

  it('9.2: is refused when a character of it is another, whichever it is', async () => {
    const { tokens } = await world();
    const { secret } = await made(tokens);
    const changed = [...secret].map(
      (char, at) => `${secret.slice(0, at)}${char === 'x' ? 'y' : 'x'}${secret.slice(at + 1)}`,
    );
    // The last character of 43 holds two bits that no byte has: base64url text that differs there is another text.
    for (const text of changed) expect(tokens.identify(text).ok, text).toBe(false);
  });

  it.each([
    ['nothing', undefined],
    ['another scheme', 'Basic YTpi'],
    ['no token', 'Bearer '],
    ['two tokens', 'Bearer a, Bearer b'],
    ['an unknown id', `Bearer spindle_unknown.${'A'.repeat(43)}`],
    ['a long text', `Bearer ${'a'.repeat(20_000)}`],
    ['the key of an administrator that there is not', `Bearer ${administratorToken(new Uint8Array(32))}`],
  ])('9.1, 9.2: once there is one, %s is refused', async (_what, authorization) => {
    const { tokens } = await world();
    await made(tokens);
    expect(await present(tokens, authorization)).toMatchObject({
      ok: false,
      refusal: { reason: 'unauthenticated' },
    });
  });

  it('9.1: before there is one, nobody is asked', async () => {
    const { tokens } = await world();
    for (const authorization of [undefined, 'Bearer whatever'])
      expect(await present(tokens, authorization)).toMatchObject({
        ok: true,
        value: { caller: { claims: {} } },
      });
  });

  it('9.1: that has ended still keeps anonymous callers out, also after a restart', async () => {
    const { tokens, clock, again } = await world();
    const { secret } = await made(tokens, { ...CLIENT, lifetimeMs: 1_000 });
    clock.advance(1_000);
    for (const engine of [tokens, await again()]) {
      expect(await present(engine, undefined)).toMatchObject({ refusal: { reason: 'unauthenticated' } });
      expect(await present(engine, `Bearer ${secret}`)).toMatchObject({
        refusal: { reason: 'credential_expired' },
      });
    }
  });

  it('9.2: ends at its expiry to the millisecond, and tells whoever waits', async () => {
    const { tokens, clock } = await world();
    const { secret } = await made(tokens, { ...CLIENT, lifetimeMs: 60_000 });
    const identity = tokens.identify(secret);
    let told = 0;
    if (identity.ok) identity.value.lifetime?.whenOver(() => told++);
    clock.advance(59_999);
    expect([tokens.identify(secret).ok, told]).toEqual([true, 0]);
    clock.advance(1);
    expect([tokens.identify(secret).ok, told]).toEqual([false, 1]);
  });

  it('9.2: ends at once when it is revoked, for those that wait; who stopped waiting hears nothing', async () => {
    const { tokens, again } = await world();
    const { secret, record } = await made(tokens);
    const identity = tokens.identify(secret);
    const told: string[] = [];
    if (identity.ok) {
      identity.value.lifetime?.whenOver(() => told.push('waits'));
      identity.value.lifetime?.whenOver(() => told.push('left'))();
    }
    expect((await tokens.revoke(record.id, 'acme')).ok).toBe(true);
    expect(told).toEqual(['waits']);
    expect(tokens.identify(secret)).toMatchObject({ refusal: { reason: 'credential_expired' } });
    expect((await again()).identify(secret)).toMatchObject({ refusal: { reason: 'credential_expired' } });
  });

  it('9.3: is neither seen nor revoked by another tenant', async () => {
    const { tokens } = await world();
    const { record, secret } = await made(tokens);
    expect(tokens.list('other')).toEqual([]);
    expect(await tokens.revoke(record.id, 'other')).toMatchObject({ refusal: { reason: 'token_not_found' } });
    expect(tokens.identify(secret).ok).toBe(true);
  });

  it('is listed newest first, whoever asks for all of them', async () => {
    const { tokens } = await world();
    await made(tokens);
    await made(tokens, { ...CLIENT, tenant: 'other' });
    expect(tokens.list(undefined).map(({ tenant }) => tenant)).toEqual(['other', 'acme']);
    expect(tokens.list('acme')).toHaveLength(1);
  });

  it.each<[string, Partial<NewToken>]>([
    ['no tenant', { tenant: '' }],
    ['a tenant with white space', { tenant: 'a b' }],
    ['a long subject', { subject: 'x'.repeat(129) }],
    ['a glob with white space, which would be two', { tools: ['a *'] }],
    ['an empty glob', { agents: [''] }],
    ['many globs', { tools: Array.from({ length: MAX_GLOBS + 1 }, () => '*') }],
    ['long globs', { tools: Array.from({ length: MAX_GLOBS }, () => 'x'.repeat(100)) }],
    ['no lifetime at all', { lifetimeMs: 0 }],
    ['a lifetime without an end', { lifetimeMs: Number.POSITIVE_INFINITY }],
  ])('is not made with %s', async (_what, more) => {
    const { tokens } = await world();
    expect(await tokens.create({ ...CLIENT, ...more })).toMatchObject({
      refusal: { reason: 'invalid_request' },
    });
    expect(tokens.configured).toBe(false);
  });

  it('takes the place of the one that ended first, where there is no room', async () => {
    const store = createMemoryTokens();
    for (let at = 0; at < MAX_TOKENS; at += 1)
      await store.put(recordOf(`old-${at}`, { createdAt: at, ...(at === 5 && { revokedAt: 10 }) }));
    const { tokens } = await world(store);
    const { record } = await made(tokens);
    const ids = tokens.list(undefined).map(({ id }) => id);
    expect([ids.length, ids.includes('old-5'), ids.includes(record.id)]).toEqual([MAX_TOKENS, false, true]);
    expect(await tokens.create(CLIENT)).toMatchObject({ refusal: { reason: 'overloaded' } });
  });
});

describe('the key of the administrator', () => {
  const key = new Uint8Array(32).fill(3);

  it('9.2: makes an administrator, whether or not there are tokens; another key does not', async () => {
    const { tokens } = await world();
    const admin = { ok: true, value: { caller: { tenant: '', claims: { role: 'administrator' } } } };
    const bearer = `Bearer ${administratorToken(key)}`;
    expect(await present(tokens, bearer, key)).toMatchObject(admin);
    await made(tokens);
    expect(await present(tokens, bearer, key)).toMatchObject(admin);
    expect(await present(tokens, bearer, new Uint8Array(32))).toMatchObject({
      refusal: { reason: 'unauthenticated' },
    });
  });
});
