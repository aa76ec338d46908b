import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTPayload,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openIssued } from '../../src/access/jwt.ts';
import { JwtSchema } from '../../src/access/settings.ts';
import { JWKS_RECHECK_MS } from '../../src/core/limits.ts';
import { temporaryDirectory } from '../journal/temporary-directory.ts';
import { createManualClock } from './manual-clock.ts';

const ISSUER = 'https://issuer.example';

interface Key {
  readonly kid: string;
  readonly privateKey: GenerateKeyPairResult['privateKey'];
  readonly jwk: object;
}

async function makeKey(kid: string): Promise<Key> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } };
}

const key = await makeKey('one');

type Claims = Readonly<Record<string, unknown>>;

/** A token that is good for a minute of the manual clock, unless the claims say otherwise. */
function sign(claims: Claims = {}, by: Key = key): Promise<string> {
  const defaults: JWTPayload = {
    iss: ISSUER,
    aud: 'spindle',
    sub: 'ann',
    exp: 1_060,
    spindle_role: 'client',
    spindle_tenant: 'acme',
  };
  const payload: JWTPayload = Object.assign(defaults, claims);
  return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: by.kid }).sign(by.privateKey);
}

async function open(more: object = {}, keys: readonly Key[] = [key]) {
  const path = join(await temporaryDirectory(), 'jwks.json');
  const write = (now: readonly Key[]) => writeFile(path, JSON.stringify({ keys: now.map(({ jwk }) => jwk) }));
  await write(keys);
  const clock = createManualClock(1_000_000);
  const reports: string[] = [];
  const settings = JwtSchema.parse({ issuer: ISSUER, audience: 'spindle', jwks: path, ...more });
  const observer = { report: (_: string, event: string) => reports.push(event) };
  return { clock, write, reports, issued: await openIssued({ settings, clock, observer }) };
}

describe('a token of an issuer', () => {
  it('9.2: makes a caller of its claims', async () => {
    const { issued } = await open();
    const identity = await issued(await sign({ spindle_tools: ['a_*', 'b'] }));
    expect(identity).toMatchObject({
      ok: true,
      value: {
        caller: {
          tenant: 'acme',
          subject: 'ann',
          claims: { role: 'client', tools: 'a_* b', credential: `issuer:${ISSUER}` },
        },
      },
    });
  });

  it('9.2: is verified once, and good until it expires', async () => {
    const { issued, clock } = await open();
    const jwt = await sign();
    await issued(jwt);
    // What is known needs no promise.
    expect(issued(jwt)).toMatchObject({ ok: true });
    const known = issued(jwt);
    let told = 0;
    if (!(known instanceof Promise) && known.ok) known.value.lifetime?.whenOver(() => told++);
    clock.advance(60_000);
    expect(told).toBe(1);
    expect(await issued(jwt)).toMatchObject({ refusal: { reason: 'credential_expired' } });
  });

  it.each<[string, () => Promise<string>]>([
    ['another issuer', () => sign({ iss: 'https://other.example' })],
    ['another audience', () => sign({ aud: 'other' })],
    ['no subject', () => sign({ sub: undefined })],
    ['no expiry', () => sign({ exp: undefined })],
    ['a start that is still to come', () => sign({ nbf: 2_000 })],
    ['another role', () => sign({ spindle_role: 'administrator' })],
    ['no role', () => sign({ spindle_role: undefined })],
    ['no tenant', () => sign({ spindle_tenant: undefined })],
    ['a tenant that is none', () => sign({ spindle_tenant: 'a b' })],
    ['globs that are none', () => sign({ spindle_tools: [1] })],
    ['a key that is not the issuer’s', async () => sign({}, { ...(await makeKey('two')), kid: 'one' })],
    ['an unknown key', async () => sign({}, await makeKey('two'))],
    [
      'no signature',
      async () => new UnsecuredJWT({ iss: ISSUER, aud: 'spindle', sub: 'ann', exp: 1_060 }).encode(),
    ],
    [
      'a secret for a signature, as if the public key were one',
      () =>
        new SignJWT({ iss: ISSUER, aud: 'spindle', sub: 'ann', exp: 1_060 })
          .setProtectedHeader({ alg: 'HS256', kid: 'one' })
          .sign(new TextEncoder().encode(JSON.stringify(key.jwk).padEnd(64))),
    ],
    [
      'a character that is another',
      async () => (await sign()).replace(/.(?=.{20}$)/, (char) => (char === 'A' ? 'B' : 'A')),
    ],
    ['no parts', async () => 'a.b.c'],
  ])('9.2: is refused with %s', async (_what, make) => {
    const { issued, reports } = await open();
    expect(await issued(await make())).toMatchObject({ refusal: { reason: 'unauthenticated' } });
    expect(reports).toEqual([]);
  });

  it('9.2: takes role and tenant of the configuration where it names none', async () => {
    const { issued } = await open({ role: 'worker', tenant: 'fixed', tools_claim: 'scope' });
    const jwt = await sign({ spindle_role: undefined, spindle_tenant: undefined, scope: 'x y' });
    expect(await issued(jwt)).toMatchObject({
      value: { caller: { tenant: 'fixed', claims: { role: 'worker', tools: 'x y' } } },
    });
  });

  it('9.2: is good by a new key once the file has it, which is not read at each unknown key', async () => {
    const { issued, clock, write } = await open();
    const next = await makeKey('two');
    const jwt = await sign({ exp: 9_000 }, next);
    await write([key, next]);
    expect(await issued(jwt)).toMatchObject({ refusal: { reason: 'unauthenticated' } });
    clock.advance(JWKS_RECHECK_MS);
    expect(await issued(jwt)).toMatchObject({ ok: true });
  });

  it('9.2: is verified by the keys of a URL; where that does not answer, nobody is told to go away for good', async () => {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ keys: [key.jwk] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const reached = await open({ jwks: `http://127.0.0.1:${port}/keys` });
    expect(await reached.issued(await sign())).toMatchObject({ ok: true });
    const lost = await open({ jwks: 'http://127.0.0.1:1/keys' });
    for (let at = 0; at < 3; at += 1)
      expect(await lost.issued(await sign())).toMatchObject({ refusal: { reason: 'issuer_unavailable' } });
    expect(lost.reports).toEqual(['issuer_unavailable']);
  });

  it.each(['http://issuer.example/keys', 'https://['])('9.2: no keys are taken from %s', (jwks) => {
    expect(JwtSchema.safeParse({ issuer: ISSUER, audience: 'spindle', jwks }).success).toBe(false);
  });
});
