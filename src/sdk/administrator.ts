import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { AccessService, CredentialRole, type Token } from '../../gen/spindle/v1/access_service_pb.ts';
import { CLIENT_UNAVAILABLE_MS } from '../core/limits.ts';
import type { GrantedRole } from '../core/rights.ts';
import { duration, instantOf, type Millis } from '../core/time.ts';
import type { ConnectOptions } from './grpc/connect-options.ts';
import { createRequests } from './grpc/requests.ts';

/** A token, without its secret. */
export interface TokenInfo {
  readonly id: string;
  readonly role: GrantedRole;
  readonly tenant: string;
  readonly subject: string;
  /** Globs; empty: all. */
  readonly tools: readonly string[];
  readonly agents: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt?: Date;
  readonly revokedAt?: Date;
}

/** Something that somebody did, or was refused. Texts are empty where there is nothing to say. */
export interface AuditInfo {
  readonly sequence: number;
  readonly at: Date;
  readonly tenant: string;
  readonly subject: string;
  readonly role: string;
  /** The token, the certificate or the issuer. */
  readonly credential: string;
  readonly method: string;
  readonly callId: string;
  readonly sessionId: string;
  /** The tool or the agent. */
  readonly name: string;
  /** `ok`, or the reason of the refusal. */
  readonly outcome: string;
  readonly peer: string;
}

export interface TokenOptions {
  readonly role: GrantedRole;
  /** The caller's own where it is not given. */
  readonly tenant?: string;
  /** Whose calls and sessions they are that it makes. The token's id where it is not given. */
  readonly subject?: string;
  readonly tools?: readonly string[];
  readonly agents?: readonly string[];
  /** Without it the token is good until it is revoked. */
  readonly lifetimeMs?: Millis;
}

/** Says who may connect. For the token of an operator, whose tenant it then is about, or of an administrator. */
export interface Administrator extends AsyncDisposable {
  /** The secret is in this answer alone. */
  createToken(token: TokenOptions): Promise<{ readonly token: TokenInfo; readonly secret: string }>;
  /** Newest first, with those that have ended. */
  tokens(tenant?: string): Promise<readonly TokenInfo[]>;
  revokeToken(id: string): Promise<TokenInfo>;
  /** The record of who did what, oldest first, up to what there is. */
  audit(afterSequence?: number): AsyncIterableIterator<AuditInfo>;
  close(): Promise<void>;
}

const ROLES: Readonly<Record<GrantedRole, CredentialRole>> = {
  worker: CredentialRole.WORKER,
  client: CredentialRole.CLIENT,
  operator: CredentialRole.OPERATOR,
};

/**
 * Makes an administrator. What the engine refuses is thrown as a SpindleError.
 *
 *     await using administrator = createAdministrator({ token: process.env['SPINDLE_TOKEN'] ?? '' });
 *     const { secret } = await administrator.createToken({ role: 'worker', tools: ['billing_*'] });
 */
export function createAdministrator(options: ConnectOptions = {}): Administrator {
  const requests = createRequests({ ...options, timeoutMs: CLIENT_UNAVAILABLE_MS });
  const { createToken, listTokens, revokeToken } = AccessService.method;
  const administrator: Administrator = {
    async createToken({ role, lifetimeMs, tools = [], agents = [], ...names }) {
      const { token, secret } = await requests.unary(createToken, {
        role: ROLES[role],
        ...names,
        tools: [...tools],
        agents: [...agents],
        ...(lifetimeMs === undefined ? {} : { lifetime: duration(lifetimeMs) }),
      });
      return { token: infoOf(token), secret };
    },
    async tokens(tenant = '') {
      const { tokens } = await requests.unary(listTokens, { tenant });
      return tokens.map(infoOf);
    },
    async revokeToken(tokenId) {
      return infoOf((await requests.unary(revokeToken, { tokenId })).token);
    },
    async *audit(afterSequence = 0) {
      const stream = requests.stream(AccessService.method.readAudit, {
        afterSequence: BigInt(afterSequence),
      });
      for await (const { entries } of stream) {
        for (const entry of entries) {
          const { $typeName, sequence, occurredAt, credentialId, ...texts } = entry;
          const at = dateOf(occurredAt) ?? new Date(0);
          yield { ...texts, sequence: Number(sequence), at, credential: credentialId };
        }
      }
    },
    async close() {
      requests.close();
    },
    [Symbol.asyncDispose]: () => administrator.close(),
  };
  return administrator;
}

function infoOf(token: Token | undefined): TokenInfo {
  if (token === undefined) throw new Error('the engine answered without the token: it breaks the contract');
  const { tokenId, tenant, subject, tools, agents, createdAt, expiresAt, revokedAt } = token;
  return {
    id: tokenId,
    role: roleOf(token.role),
    tenant,
    subject,
    tools,
    agents,
    createdAt: dateOf(createdAt) ?? new Date(0),
    ...(expiresAt === undefined ? {} : { expiresAt: new Date(instantOf(expiresAt)) }),
    ...(revokedAt === undefined ? {} : { revokedAt: new Date(instantOf(revokedAt)) }),
  };
}

function roleOf(role: CredentialRole): GrantedRole {
  switch (role) {
    case CredentialRole.WORKER:
      return 'worker';
    case CredentialRole.OPERATOR:
      return 'operator';
    default:
      return 'client';
  }
}

function dateOf(time: Timestamp | undefined): Date | undefined {
  return time && new Date(instantOf(time));
}
