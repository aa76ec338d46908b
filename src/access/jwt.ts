import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import {
  JWKS_RECHECK_MS,
  JWKS_TIMEOUT_MS,
  MAX_CACHED_IDENTITIES,
  MAX_VERIFICATIONS,
} from '../core/limits.ts';
import { accepted, type Outcome, refused } from '../core/refusal.ts';
import { callerOf, GRANTED_ROLES } from '../core/rights.ts';
import type { Clock, Identity, Observer } from '../engine/ports.ts';
import { grantFault } from './grant.ts';
import { createLifetime } from './lifetime.ts';
import type { JwtSettings } from './settings.ts';

type Jose = typeof import('jose');

/** Signatures by a key of the issuer's alone: with a shared secret, whoever can check a token could make one. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

export interface IssuedOptions {
  readonly settings: JwtSettings;
  readonly clock: Clock;
  readonly observer: Observer;
}

/**
 * Verifies what an issuer signed, and makes a caller of its claims (9.2). What was verified is remembered until it
 * expires, so that a signature is checked once. Rejects where the file of keys cannot be read.
 */
export async function openIssued({ settings, clock, observer }: IssuedOptions) {
  const jose = await import('jose');
  const keys = await openKeys(jose, settings.jwks, clock);
  const verified = new Map<string, Identity & { readonly lifetime: NonNullable<Identity['lifetime']> }>();
  let verifying = 0;
  let reportAt = Number.NEGATIVE_INFINITY;

  const verify = async (jwt: string, digest: string): Promise<Outcome<Identity>> => {
    verifying += 1;
    try {
      const { payload } = await jose.jwtVerify(jwt, keys, {
        issuer: settings.issuer,
        audience: settings.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(clock.now()),
      });
      const caller = callerFrom(payload, settings);
      if (!caller.ok) return caller;
      const identity = { caller: caller.value, lifetime: createLifetime(clock, (payload.exp ?? 0) * 1_000) };
      const [oldest] = verified.keys();
      if (verified.size >= MAX_CACHED_IDENTITIES && oldest !== undefined) verified.delete(oldest);
      verified.set(digest, identity);
      return accepted(identity);
    } catch (error) {
      const refusal = refusalOf(error, jose);
      if (refusal === UNREACHABLE && clock.now() >= reportAt) {
        // Whoever sends tokens must not fill the log.
        reportAt = clock.now() + JWKS_RECHECK_MS;
        observer.report('error', 'issuer_unavailable', { issuer: settings.issuer, error: nameOf(error) });
      }
      return refusal;
    } finally {
      verifying -= 1;
    }
  };

  return (jwt: string): Outcome<Identity> | Promise<Outcome<Identity>> => {
    const digest = createHash('sha256').update(jwt).digest('base64url');
    const known = verified.get(digest);
    if (known !== undefined && !known.lifetime.over) return accepted(known);
    if (known !== undefined) verified.delete(digest);
    return verifying >= MAX_VERIFICATIONS ? BUSY : verify(jwt, digest);
  };
}

function callerFrom(payload: JWTPayload, { issuer, claims, role, tenant }: JwtSettings) {
  const given = payload[claims.role] ?? role;
  const granted = GRANTED_ROLES.find((candidate) => candidate === given);
  if (granted === undefined)
    return unusable(`its claim ${claims.role} is no role: worker, client or operator`);
  const tenantOf = payload[claims.tenant] ?? tenant;
  if (typeof tenantOf !== 'string') return unusable(`its claim ${claims.tenant} is no tenant`);
  const tools = globsOf(payload[claims.tools]);
  const agents = globsOf(payload[claims.agents]);
  if (tools === undefined || agents === undefined)
    return unusable(`its claims ${claims.tools} and ${claims.agents} have to be lists of globs`);
  const grant = { role: granted, tenant: tenantOf, subject: payload.sub ?? '', tools, agents };
  const fault = grantFault(grant);
  return fault === undefined
    ? accepted(callerOf({ ...grant, credentialId: `issuer:${issuer}` }))
    : unusable(fault);
}

/** A list, or texts with spaces between, as scopes are written. Undefined for anything else; nothing is no limit. */
function globsOf(claim: unknown): readonly string[] | undefined {
  if (claim === undefined) return [];
  if (typeof claim === 'string') return claim.split(' ').filter((glob) => glob !== '');
  return Array.isArray(claim) && claim.every((glob) => typeof glob === 'string') ? claim : undefined;
}

function unusable(why: string) {
  return refused(
    'unauthenticated',
    `The token of the issuer is good, but ${why}. Ask the issuer's operator.`,
  );
}

function refusalOf(error: unknown, jose: Jose): Outcome<Identity> {
  if (error instanceof jose.errors.JWTExpired) return EXPIRED;
  const known = error instanceof jose.errors.JOSEError && !KEYS_OUT_OF_REACH.has(error.code);
  return known ? UNKNOWN : UNREACHABLE;
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error ? String(error.code) : error.message;
}

const KEYS_OUT_OF_REACH: ReadonlySet<string> = new Set([
  'ERR_JWKS_TIMEOUT',
  'ERR_JOSE_GENERIC',
  'ERR_JWKS_INVALID',
]);

const UNKNOWN = refused(
  'unauthenticated',
  'The token is not one that the issuer of this engine signed for it.',
);
const EXPIRED = refused(
  'credential_expired',
  'The token of the issuer has expired. Ask the issuer for another.',
);
const BUSY = refused('overloaded', `${MAX_VERIFICATIONS} tokens are being verified, which is the limit`);
const UNREACHABLE = refused(
  'issuer_unavailable',
  'The keys of the issuer cannot be read now, so nobody knows whether the token is good. Try again.',
);

/** The issuer's public keys, which may change while the engine runs. */
async function openKeys(jose: Jose, place: string, clock: Clock): Promise<JWTVerifyGetKey> {
  if (/^https?:/.test(place)) {
    return jose.createRemoteJWKSet(new URL(place), {
      timeoutDuration: JWKS_TIMEOUT_MS,
      cooldownDuration: JWKS_RECHECK_MS,
    });
  }
  const read = async () => jose.createLocalJWKSet(JSON.parse(await readFile(place, 'utf8')));
  let keys = await read();
  let readAt = clock.now();
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof jose.errors.JWKSNoMatchingKey) || clock.now() < readAt + JWKS_RECHECK_MS)
        throw error;
      // A key that is not known may be a new one.
      readAt = clock.now();
      keys = await read();
      return keys(header, token);
    }
  };
}
