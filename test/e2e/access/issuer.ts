import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';
import { JwtSchema } from '../../../src/access/settings.ts';
import { openEngine } from '../engine.ts';

/** An engine that trusts an issuer, for as long as the test runs, and the issuer. */
export async function openIssuedEngine() {
  const folder = await mkdtemp(join(tmpdir(), 'spindle-issuer-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { publicKey, privateKey } = await generateKeyPair('EdDSA');
  const path = join(folder, 'jwks.json');
  await writeFile(path, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'EdDSA' }] }));
  const jwt = JwtSchema.parse({ issuer: 'i', audience: 'a', jwks: path, tenant: 'acme' });
  const engine = await openEngine({ jwt });
  onTestFinished(() => engine[Symbol.asyncDispose]());
  const sign = (claims: JWTPayload, expires: string | Date) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA' })
      .setIssuer('i')
      .setAudience('a')
      .setExpirationTime(expires)
      .sign(privateKey);
  return { engine, sign };
}
