import { MAX_POLICY_DURATION_MS, MAX_TOKENS } from '../core/limits.ts';
import { accepted, type Outcome, refused } from '../core/refusal.ts';
import { callerOf, type GrantedRole } from '../core/rights.ts';
import type { Millis } from '../core/time.ts';
import type { Clock, Identity, Random, TokenRecord, TokenStore } from '../engine/ports.ts';
import { grantFault } from './grant.ts';
import { createLifetime, type EndableLifetime } from './lifetime.ts';
import { makeSecret, readToken, sameHash } from './secret.ts';

export interface NewToken {
  readonly role: GrantedRole;
  readonly tenant: string;
  /** Empty: the token's id. */
  readonly subject: string;
  readonly tools: readonly string[];
  readonly agents: readonly string[];
  /** Undefined: until it is revoked. */
  readonly lifetimeMs: Millis | undefined;
}

/** The tokens of an engine (9.2). Their secrets are hashed, and leave `create` alone. */
export interface Tokens {
  /** Whether one was ever made: from then on nobody is anonymous, also when all have ended (9.1). */
  readonly configured: boolean;
  /** Whose a presented token is. */
  identify(text: string): Outcome<Identity>;
  /** Rejects with a JournalFault. */
  create(token: NewToken): Promise<Outcome<{ readonly record: TokenRecord; readonly secret: string }>>;
  /** Newest first; of one tenant, or of all. */
  list(tenant: string | undefined): readonly TokenRecord[];
  /** Ends a token, of one tenant or of any, and the streams that it opened. Rejects with a JournalFault. */
  revoke(id: string, tenant: string | undefined): Promise<Outcome<TokenRecord>>;
}

interface Kept {
  readonly record: TokenRecord;
  readonly identity: Identity & { readonly lifetime: EndableLifetime };
}

export interface TokensOptions {
  readonly store: TokenStore;
  readonly clock: Clock;
  readonly random: Pick<Random, 'token'>;
}

/** Reads what is kept. Rejects with a JournalFault. */
export async function openTokens({ store, clock, random }: TokensOptions): Promise<Tokens> {
  const kept = new Map<string, Kept>();
  const keep = (record: TokenRecord, lifetime: EndableLifetime): void => {
    const caller = callerOf({ ...record, credentialId: record.id });
    kept.set(record.id, { record, identity: { caller, lifetime } });
  };
  const lifetimeOf = ({ expiresAt, revokedAt }: TokenRecord): EndableLifetime =>
    createLifetime(clock, revokedAt ?? expiresAt);
  for (const record of await store.load()) keep(record, lifetimeOf(record));

  /** Makes room by forgetting what has ended. One is always left, so that the engine still asks who comes. */
  const makeRoom = async (): Promise<boolean> => {
    for (const [id, { identity }] of kept) {
      if (kept.size < MAX_TOKENS) break;
      if (!identity.lifetime.over) continue;
      await store.remove(id);
      kept.delete(id);
    }
    return kept.size < MAX_TOKENS;
  };

  return {
    get configured() {
      return kept.size > 0;
    },

    identify(text) {
      const given = readToken(text);
      if (given === undefined) return UNKNOWN;
      const found = kept.get(given.id);
      if (!sameHash(given.hash, found?.record.hash) || found === undefined) return UNKNOWN;
      return found.identity.lifetime.over ? ENDED : accepted(found.identity);
    },

    async create({ role, tenant, subject, tools, agents, lifetimeMs }) {
      const id = random.token();
      const grant = { tenant, subject: subject === '' ? id : subject, tools, agents };
      const fault = grantFault(grant);
      if (fault !== undefined) return refused('invalid_request', fault);
      if (lifetimeMs !== undefined && !(lifetimeMs > 0 && lifetimeMs <= MAX_POLICY_DURATION_MS))
        return refused('invalid_request', 'lifetime must be above 0, and at most 366 days');
      if (!(await makeRoom()))
        return refused('overloaded', `there are ${MAX_TOKENS} tokens, which is the limit; revoke some`);
      const secret = makeSecret(id);
      const createdAt = clock.now();
      const record: TokenRecord = {
        id,
        hash: secret.hash,
        role,
        ...grant,
        createdAt,
        ...(lifetimeMs === undefined ? {} : { expiresAt: createdAt + lifetimeMs }),
      };
      await store.put(record);
      keep(record, lifetimeOf(record));
      return accepted({ record, secret: secret.text });
    },

    list: (tenant) =>
      [...kept.values()]
        .map(({ record }) => record)
        .filter((record) => tenant === undefined || record.tenant === tenant)
        .reverse(),

    async revoke(id, tenant) {
      const found = kept.get(id);
      if (found === undefined || (tenant !== undefined && found.record.tenant !== tenant))
        return refused('token_not_found', `there is no token ${JSON.stringify(id)}`, { token_id: id });
      const { record, identity } = found;
      if (record.revokedAt !== undefined) return accepted(record);
      const revoked = { ...record, revokedAt: clock.now() };
      await store.put(revoked);
      kept.set(id, { record: revoked, identity });
      identity.lifetime.end();
      return accepted(revoked);
    },
  };
}

const UNKNOWN = refused(
  'unauthenticated',
  'The credential is not known to this engine. Ask its operator for a token: `spindle token create`.',
);
const ENDED = refused(
  'credential_expired',
  'The credential has expired, or was revoked. Ask the operator of the engine for another.',
);
