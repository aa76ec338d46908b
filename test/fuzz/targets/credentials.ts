import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createCredentials } from '../../../src/access/credentials.ts';
import { openIssued } from '../../../src/access/jwt.ts';
import { JwtSchema } from '../../../src/access/settings.ts';
import { openTokens } from '../../../src/access/tokens.ts';
import { createMemoryTokens } from '../../../src/journal/memory-tokens.ts';
import { systemClock, systemRandom } from '../../../src/system.ts';
import { mutateText } from '../mutate.ts';
import type { Target } from '../target.ts';

/** Authorizations near good ones: none is good but those that are the same. */
export async function openCredentials(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'spindle-fuzz-'));
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const jwks = join(folder, 'jwks.json');
  await writeFile(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }));
  const clock = systemClock();
  const tokens = await openTokens({ store: createMemoryTokens(), clock, random: systemRandom() });
  const made = await tokens.create({
    role: 'client',
    tenant: 't',
    subject: '',
    tools: [],
    agents: [],
    lifetimeMs: undefined,
  });
  const jwt = await new SignJWT({ sub: 's', spindle_role: 'client', spindle_tenant: 't' })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer('i')
    .setAudience('a')
    .setExpirationTime('1h')
    .sign(privateKey);
  const reports: string[] = [];
  const settings = JwtSchema.parse({ issuer: 'i', audience: 'a', jwks });
  const observer = { report: (_level: string, event: string) => reports.push(event) };
  const issued = await openIssued({ settings, clock, observer });
  const credentials = createCredentials({ tokens, issued, administratorKey: new Uint8Array(32) });
  const good = [`Bearer ${made.ok ? made.value.secret : ''}`, `Bearer ${jwt}`] as const;
  return {
    make: (random) => mutateText(random, random.pick(good)),
    async examine(authorization) {
      const identity = await credentials.authenticate({ authorization, certificate: () => undefined });
      const same = good.some(
        (text) => text === authorization.replace(/^bearer +/i, 'Bearer ').replace(/ +$/, ''),
      );
      if (identity.ok !== same) return identity.ok ? 'took what is no credential' : 'refused what is one';
      return reports.length === 0 ? undefined : `reported ${reports[0]}`;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}
